import { readFile } from 'node:fs/promises';

/**
 * The units that this host allows, whatever the server asks for: one name per line, `#` for comments. Read for every
 * action, so a change applies at once; without the file nothing is allowed.
 */
export class AllowList {
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  async allows(unit: string): Promise<boolean> {
    const wanted = full(unit);
    const units = (await this.#read()) ?? [];
    return unit !== '' && units.some((one) => full(one) === wanted);
  }

  /** A sentence, if no unit is allowed at the moment. */
  async whyNothing(): Promise<string | null> {
    const units = await this.#read().catch((error: Error) => error);
    if (units instanceof Error) return `No unit is allowed: the list cannot be read: ${units.message}.`;
    if (units && units.length > 0) return null;
    const what = units === null ? 'there is no list' : 'nothing is on the list';
    return `No unit is allowed: ${what} ${this.#file}. Write one unit per line; changes take effect at once.`;
  }

  /** Null: there is no such file. */
  async #read(): Promise<string[] | null> {
    const text = await readFile(this.#file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null;
      throw error;
    });
    if (text === null) return null;
    return text.split('\n').flatMap((line) => line.replace(/#.*$/, '').trim() || []);
  }
}

/** systemctl takes nginx for nginx.service. */
function full(unit: string): string {
  return /\.(service|socket|timer|target|path|mount|automount|swap|slice|scope|device)$/.test(unit)
    ? unit
    : `${unit}.service`;
}
