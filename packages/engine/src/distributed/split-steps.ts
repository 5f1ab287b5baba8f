import { type Step, type Steps, stepsOf, withoutComments, withSteps } from './steps.ts';

/**
 * A distributed database carries out the steps of a statement that inserts one after the other, as they are written, each
 * with a look of its own at what the steps before it have changed. A plain server shows all of them the same: the
 * state before the statement. So steps that only read come as early as they can.
 *
 * It carries out a step that reads a table of tenants on the server of the tenant, where sequences are others. So numbers
 * are taken in a step of their own.
 */
export function splitSteps(text: string): string {
  const plain = withoutComments(text);
  const all = stepsOf(plain);
  if (!all) return plain.replace(INSERTS_READ, (_, into: string, read: string) => insertApart(into, read));
  const { last, after } = insertsLast(all.after);
  const steps = [...all.steps, ...last].map(lockInside).flatMap(numbersApart).flatMap(readApart);
  return withSteps({ ...all, after, steps: [...calledHere(plain), ...readsFirst({ ...all, steps })] });
}

/** An insert behind the steps would go to the tenant's server with them, and its defaults take numbers of sequences there. */
function insertsLast(after: string): { last: Step[]; after: string } {
  const body = after.trim().replace(/;$/, '');
  // more statements follow in a function, which would have to be told that this one is a select now
  if (!/^insert\b/i.test(body) || body.includes(';')) return { last: [], after };
  const answers = /\sreturning\s/i.test(body) ? 'select * from inserted' : 'select 1 where false';
  return { last: [{ name: 'inserted', isMaterialized: false, body }], after: ` ${answers}` };
}

/** It cannot plan an insert of what it reads with an outer join: that is read in a step of its own. */
const INSERTS_READ =
  /^(\s*insert into [\w.]+(?: as \w+)? \([^)]*\))\s*(select\b[\s\S]*\bleft join\b[\s\S]*)$/i;
const AFTER_READ = /\s(?:on conflict|returning)\s(?![\s\S]*\bleft join\b)[\s\S]*$/;

/** The step is one of the select: before the insert, the server of the tenant would take the numbers of its rows. */
function insertApart(into: string, read: string): string {
  const { step, insert } = apart('selected', into, read);
  return withSteps({ before: `${into} `, steps: [step], after: ` ${insert.slice(into.length)}` });
}

function readApart(step: Step): Step[] {
  const found = INSERTS_READ.exec(step.body);
  if (!found) return [step];
  const { step: read, insert } = apart(`${step.name}_selected`, found[1] as string, found[2] as string);
  return [read, { ...step, body: insert }];
}

function apart(name: string, into: string, read: string): { step: Step; insert: string } {
  const then = AFTER_READ.exec(read)?.[0] ?? '';
  const columns = into.slice(into.indexOf('('));
  const body = `select * from (${read.slice(0, read.length - then.length)}) r${columns}`;
  return { step: { name, isMaterialized: true, body }, insert: `${into} select * from ${name}${then}` };
}

const WRITES = /^(insert|update|delete)\b/;

function readsFirst({ steps }: Pick<Steps, 'steps'>): Step[] {
  const done = new Set<string>();
  const names = steps.map(({ name }) => name);
  const left = steps.map((step) => ({
    step,
    needs: names.filter((name) => name !== step.name && reads(step.body, name)),
  }));
  const order: Step[] = [];
  while (left.length > 0) {
    const isReady = ({ needs }: (typeof left)[number]) =>
      needs.every((name) => done.has(name) || !names.includes(name));
    let at = left.findIndex((one) => isReady(one) && !WRITES.test(one.step.body));
    if (at < 0) at = left.findIndex(isReady);
    // a name that is also the name of a column
    if (at < 0) at = 0;
    const [{ step }] = left.splice(at, 1) as [(typeof left)[number]];
    done.add(step.name);
    order.push(step);
  }
  return order;
}

/** The name may also be that of a row. */
const reads = (body: string, name: string) =>
  new RegExp(`(?:\\b(?:from|join|using)\\s+|,\\s*)${name}\\b(?!\\s*\\.)`).test(body);

/** A lock at the end of a step adds a column that is not in its result, and the next steps could not read that. */
const lockInside = (step: Step): Step =>
  !WRITES.test(step.body) && /\bfor (no key )?update\b[^()]*$/.test(step.body)
    ? { ...step, body: `select r.* from (${step.body}) r` }
    : step;

/**
 * Where no step inserts, the tenant's server would carry out the whole statement, with the functions that it calls, and those
 * take numbers. It does not have this table; the step itself is carried out nowhere.
 */
function calledHere(text: string): Step[] {
  const schema = /\bfrom (\w+)\.\w+\(/.exec(text)?.[1];
  return schema === undefined
    ? []
    : [{ name: 'here', isMaterialized: false, body: `select 1 from ${schema}.incarnations` }];
}

const NUMBER = /\b(?:case when ((?:(?!case when).)*?) then )?nextval\('([\w.]+)'\)( end)? as (\w+)/;

function numbersApart(step: Step): Step[] {
  const taken = WRITES.test(step.body) ? null : NUMBER.exec(step.body);
  if (!taken) return [step];
  const [call, when, sequence, , column] = taken;
  const read = `${step.name}_read`;
  const number = `nextval('${sequence}')`;
  return [
    { name: read, isMaterialized: true, body: step.body.replace(call, `${when ?? 'true'} as has_number`) },
    {
      ...step,
      body: `select r.*, ${when === undefined ? number : `case when r.has_number then ${number} end`} as ${column} from ${read} r`,
    },
  ];
}
