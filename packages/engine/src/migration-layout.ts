import { EngineError } from './errors.ts';

interface Named {
  readonly line: string;
  readonly version: number;
  readonly name: string;
}

/**
 * Before the first release the files of each owner were joined into one, which reuses an earlier file's number under
 * another name. By numbers alone, a database with the earlier files would count as current, and the first statement
 * would fail in it. A number without a file proves nothing: a newer version may have added it, also between known
 * numbers, as each door has its own range; only `breaking` says whether this version may go on.
 */
export function refuseOtherLayout(known: readonly Named[], applied: readonly Named[]): void {
  const names = new Map(known.map(({ line, version, name }) => [`${line} ${version}`, name]));
  for (const { line, version, name } of applied) {
    const ours = names.get(`${line} ${version}`);
    if (ours !== undefined && ours !== name)
      throw new EngineError(
        'MUSTER_SCHEMA_OTHER_LAYOUT',
        `The database has the layout of another, earlier version of Muster, which cannot be migrated (migration ${line} ${version} is ${name} there, ${ours} here). Start with an empty database, or with another schema (MUSTER_SCHEMA).`,
      );
  }
}
