import { existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { runProgram } from '../src/run-program.ts';

const environment = { PATH: process.env.PATH };
const never = new AbortController().signal;
const run = (script: string, more: { timeoutMs?: number; signal?: AbortSignal } = {}) =>
  runProgram('sh', ['-c', script], { timeoutMs: 60_000, signal: never, environment, ...more });

it('reports exit code and output, both streams', async () => {
  expect(await run('echo out; echo err >&2; exit 3')).toMatchObject({ status: 'failed', exitCode: 3 });
  const { output, ...outcome } = await run('echo out; echo err >&2');
  expect(outcome).toEqual({ status: 'succeeded', exitCode: 0 });
  expect(output?.split('\n').sort()).toEqual(['', 'err', 'out']);
});

it('reports the start when there is a process, and only then', async () => {
  const begun: string[] = [];
  const say = (program: string) =>
    runProgram(program, [], {
      timeoutMs: 60_000,
      signal: never,
      environment,
      begins: () => void begun.push(program),
    });
  await say('true');
  await say('no-such-program-here');
  expect(begun).toEqual(['true']);
});

it('passes arguments unchanged, without a shell', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-run-'));
  const word = `; touch ${folder}/oops; $(touch ${folder}/oops) \`touch ${folder}/oops\``;
  const { output } = await runProgram('echo', [word], { timeoutMs: 60_000, signal: never, environment });
  expect(output).toBe(`${word}\n`);
  expect(existsSync(path.join(folder, 'oops'))).toBe(false);
});

it('keeps the last 64 KiB of a long output, without half characters and NUL', async () => {
  const { output = '' } = await run('yes "€uro" | head -c 1000001; printf "a\\000b"; echo the end');
  expect(Buffer.byteLength(output)).toBeLessThanOrEqual(65_536);
  expect(output.endsWith('a?bthe end\n')).toBe(true);
  expect(output.startsWith('\ufffd')).toBe(false);
});

it('ends a program that takes too long, with its children', async () => {
  const outcome = await run('sleep 600 & wait', { timeoutMs: 50 });
  expect(outcome.status).toBe('failed');
  expect(outcome.message).toMatch(/^TIMEOUT/);
});

it('ends a program on request, and says why', async () => {
  const controller = new AbortController();
  const running = run('echo begun; sleep 600', { signal: controller.signal });
  controller.abort(new Error('CANCELLED: an operator cancelled it.'));
  expect(await running).toMatchObject({ status: 'failed', message: 'CANCELLED: an operator cancelled it.' });
  expect((await run('exit 0', { signal: controller.signal })).message).toMatch(/^CANCELLED/);
});

it('does not wait for a child that keeps the output open', async () => {
  expect(await run('sleep 600 & echo $! ; exit 0')).toMatchObject({ status: 'succeeded' });
});

it('reports a missing program', async () => {
  const outcome = await runProgram('no-such-program-here', [], {
    timeoutMs: 1_000,
    signal: never,
    environment,
  });
  expect(outcome).toMatchObject({ status: 'failed' });
  expect(outcome.message).toContain('no-such-program-here');
});
