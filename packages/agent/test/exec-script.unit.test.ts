import { chmodSync, existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { execScript, type TaskDevice } from '../src/index.ts';
import { fitting, reduceReport } from '../src/runner/result.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'muster-script-'));
const never = new AbortController().signal;
let made = 0;

const device = (more: Partial<TaskDevice> = {}): TaskDevice => ({
  id: '5',
  taskId: '3',
  deviceId: '9',
  pcId: '2',
  kind: 'UPDATE',
  attempt: 2,
  maxAttempts: 3,
  startedAt: '2026-01-01T00:00:00.000Z',
  timeoutAt: '2026-01-01T00:20:00.000Z',
  payload: { version: 7 },
  endsAt: performance.now() + 600_000,
  ...more,
});

/** The words of a shell script, run for a device. */
function run(words: string, more: Partial<TaskDevice> = {}, signal = never) {
  made += 1;
  const script = path.join(folder, `script-${made}`);
  writeFileSync(script, `#!/bin/sh\n${words}\n`);
  chmodSync(script, 0o755);
  const execute = execScript({
    script,
    environment: { PATH: process.env.PATH, FOLDER: folder },
    killAfterMs: 50,
  });
  return execute(device(more), { signal, marks: {}, begins: () => {} });
}

it('passes the payload as input and the names as variables', async () => {
  const names = [
    'TASK_ID',
    'TASK_DEVICE_ID',
    'DEVICE_ID',
    'PC_ID',
    'KIND',
    'ATTEMPT',
    'MAX_ATTEMPTS',
    'TIMEOUT_AT',
  ];
  const { result } = await run(`cat; echo; echo ${names.map((name) => `$MUSTER_${name}`).join(' ')}`);
  expect(result).toBe('{"version":7}\n3 5 9 2 UPDATE 2 3 2026-01-01T00:20:00.000Z');
  expect((await run('cat', { payload: undefined })).result).toBeNull();
});

it('runs a script that does not read what it is given', async () => {
  expect(await run('exec <&-; echo done', { payload: 'x'.repeat(1_000_000) })).toMatchObject({
    status: 'succeeded',
    result: 'done',
  });
});

it.each([
  [`echo '{"a": [1, "b"]}'`, { a: [1, 'b'] }],
  ['echo 42', 42],
  ['echo true', true],
  ['printf "two\\nlines\\n\\n"', 'two\nlines'],
  ['true', undefined],
  ['echo', undefined],
  [`echo '{"a": '`, '{"a": '],
  [`printf '"a\\\\u0000b"'`, '"a\\u0000b"'],
  [`printf '"a\\\\ud800b"'`, '"a\\ud800b"'],
  [`printf 'a\\000b'`, 'a?b'],
])('%s is the result it looks like', async (words, result) => {
  const outcome = await run(words);
  expect(outcome.status).toBe('succeeded');
  expect(outcome.result).toEqual(result);
});

it('keeps the end of an output that is too long, cut to fit as JSON', async () => {
  const { result } = await run(`yes '"€"' | head -c 1000001; echo the end`);
  const text = result as string;
  expect(text.endsWith('the end')).toBe(true);
  expect(Buffer.byteLength(JSON.stringify(text))).toBeLessThanOrEqual(65_536);
  expect(Buffer.byteLength(JSON.stringify(text))).toBeGreaterThan(40_000);
  expect(fitting('\u0001'.repeat(100_000)).length).toBeGreaterThan(10_000);
  // a cut list is a text, even if its end looks like JSON
  expect(typeof (await run('yes 1111111 | head -c 800000 | tr "\\n" "1"')).result).toBe('string');
});

it('reports how it failed: the code, and the end of its output', async () => {
  expect(await run('echo out; echo err >&2; exit 3')).toEqual({
    status: 'failed',
    exitCode: 3,
    message: 'The script ended with code 3.\nerr',
  });
  expect((await run('echo out; exit 3')).message).toBe('The script ended with code 3.\nout');
  expect((await run('kill -9 $$')).message).toBe('It was killed by SIGKILL.');
  expect((await run('yes long | head -c 100000 >&2; exit 1')).message?.length).toBeLessThan(9_000);
});

it('ends a script and its children when the time is over, even if they ignore SIGTERM', async () => {
  const words = `trap '' TERM; echo begun >&2; sh -c 'trap "" TERM; sleep 600; touch $FOLDER/late' & wait; sleep 600`;
  const outcome = await run(words, { endsAt: performance.now() + 200 });
  expect(outcome).toMatchObject({ status: 'failed', timedOut: true });
  expect(outcome.message).toMatch(/^TIMEOUT/);
  expect(existsSync(path.join(folder, 'late'))).toBe(false);
  expect(await run('echo no', { endsAt: performance.now() - 1 })).toMatchObject({
    message: expect.stringMatching(/^TIMEOUT/),
    timedOut: true,
  });
});

it('ends a cancelled script', async () => {
  const controller = new AbortController();
  const running = run('sleep 600', {}, controller.signal);
  controller.abort(new Error('CANCELLED: an operator cancelled it.'));
  expect(await running).toMatchObject({ status: 'failed', message: 'CANCELLED: an operator cancelled it.' });
});

it('reduces a report that the server refuses, until it cannot be smaller', () => {
  const report = {
    actionId: '1',
    attempt: 1,
    status: 'succeeded' as const,
    result: { deep: 'x'.repeat(2_000) },
  };
  const asText = reduceReport(report, 400);
  expect(asText?.result).toBe(JSON.stringify(report.result));
  const short = reduceReport(asText as typeof report, 413);
  expect(short?.result).toHaveLength(1_000);
  expect(reduceReport(short as typeof report, 413)).toBeNull();
  expect(reduceReport(report, 404)).toBeNull();
});
