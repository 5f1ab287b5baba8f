import { NO_WRITABLE_HOST } from '@muster/engine';
import { expect, test } from 'vitest';
import { AGAIN_MS, BackgroundErrors, GATHER_MS } from '../src/background/background-errors.ts';
import { createLog } from '../src/http/logging.ts';

/** Time passes only when the test says so. */
function scene() {
  const lines: Record<string, unknown>[] = [];
  const log = createLog('info', { write: (line) => void lines.push(JSON.parse(line)) });
  let now = 0;
  const waiting = new Map<() => void, number>();
  const background = new BackgroundErrors({
    log,
    ticks: () => now,
    later: (ms, then) => {
      waiting.set(then, now + ms);
      return () => waiting.delete(then);
    },
  });
  const pass = (ms: number) => {
    now += ms;
    for (const [then, at] of [...waiting]) if (at <= now && waiting.delete(then)) then();
  };
  return { background, pass, lines, said: () => lines.splice(0).map(({ msg }) => msg) };
}

const broken = new Error('Connection terminated unexpectedly');
const refused = Object.assign(new Error('connect ECONNREFUSED 10.0.0.5:5432'), { code: 'ECONNREFUSED' });
const nowhere = (what: string) =>
  Object.assign(new Error(`No host of the database accepts writes: ${what}.`), { code: NO_WRITABLE_HOST });

test('an outage is a line when it begins, with what each host said, one a minute, and one at its end', () => {
  const { background, pass, lines, said } = scene();
  background.happened(broken);
  background.happened(nowhere('db-1:5432 does not answer (ECONNRESET); db-2:5432 is read-only'));
  pass(GATHER_MS / 2);
  background.happened(nowhere('db-1:5432 does not answer (ECONNREFUSED); db-2:5432 is read-only'));
  expect(said()).toEqual([]);
  pass(GATHER_MS / 2);
  expect(lines).toMatchObject([{ level: 50, errors: 3 }]);
  expect(JSON.stringify(lines)).not.toContain('stack');
  expect(said()).toEqual([
    'No host of the database accepts writes: db-1:5432 does not answer (ECONNREFUSED); db-2:5432 is read-only.',
  ]);
  for (let n = 0; n < 100; n += 1) background.happened(refused);
  expect(said()).toEqual([]);
  pass(AGAIN_MS);
  for (let n = 0; n < 100; n += 1) background.happened(refused);
  expect(lines).toMatchObject([{ level: 50, errors: 104 }]);
  expect(said()).toEqual([
    'No host of the database accepts writes: db-1:5432 does not answer (ECONNREFUSED); db-2:5432 is read-only. This has lasted 62 s.',
  ]);
  background.answered('db-2:5432');
  background.answered('db-2:5432');
  expect(lines).toMatchObject([{ level: 40, errors: 203 }]);
  expect(said()).toEqual(['The database answers again, at db-2:5432, after 62 s.']);

  background.happened(refused);
  pass(GATHER_MS);
  background.answered(null);
  expect(said()).toEqual([
    'The database does not answer: connect ECONNREFUSED 10.0.0.5:5432.',
    'The database answers again, after 2 s.',
  ]);
});

test('a connection that breaks while the database answers is a line a minute, however many break', () => {
  const { background, pass, lines, said } = scene();
  const broke = () => {
    background.happened(broken);
    background.answered(null);
  };
  broke();
  expect(said()).toEqual([
    'The database answers, but connections to it broke: Connection terminated unexpectedly.',
  ]);
  for (let n = 0; n < 50; n += 1) broke();
  pass(AGAIN_MS);
  expect(said()).toEqual([]);
  broke();
  expect(lines).toMatchObject([{ level: 40, errors: 51 }]);
});

test('an error of another kind keeps its stack, and has a line a minute', () => {
  const { background, pass, lines } = scene();
  const fault = () => new TypeError('x is not a function');
  background.happened(fault());
  background.happened(new Error('another'));
  for (let n = 0; n < 5; n += 1) background.happened(fault());
  expect(lines).toMatchObject([
    {
      msg: 'An error in the background.',
      err: { stack: expect.stringMatching(/^TypeError: x is.*\n {4}at /) },
    },
    { err: { message: 'another' } },
  ]);
  pass(AGAIN_MS);
  background.happened(fault());
  expect(lines.slice(2)).toMatchObject([{ errors: 6, err: { stack: expect.stringContaining('    at ') } }]);
});

test('a stop says what was gathered, and nothing afterwards', () => {
  const { background, pass, said } = scene();
  background.happened(refused);
  background.end();
  expect(said()).toEqual(['The database does not answer: connect ECONNREFUSED 10.0.0.5:5432.']);
  background.answered(null);
  pass(GATHER_MS);
  expect(said()).toEqual([]);
});
