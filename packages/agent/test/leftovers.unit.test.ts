import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, expect, it } from 'vitest';
import { endLeftovers } from '../src/leftovers.ts';

const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

/** A process with these variables, which has reported that it runs. */
async function marked(marks: Record<string, string>, words = 'echo there; exec sleep 600') {
  const child = spawn('sh', ['-c', words], { env: { PATH: process.env.PATH, ...marks } });
  children.push(child);
  await once(child.stdout, 'data');
  return child;
}
const isAlive = (child: ChildProcess) => child.exitCode === null && child.signalCode === null;
const marks = (more: object = {}) => ({
  MUSTER_AGENT_STATE: `/of/test/${process.pid}`,
  MUSTER_ACTION_ID: '7',
  MUSTER_ATTEMPT: '2',
  ...more,
});

it('ends the processes of the attempt, and none that has only some of its marks', async () => {
  const ours = await marked(marks());
  const others = [
    await marked(marks({ MUSTER_AGENT_STATE: '/of/another' })),
    await marked(marks({ MUSTER_ACTION_ID: '71' })),
    await marked(marks({ MUSTER_ATTEMPT: '1' })),
    await marked({}),
  ];
  const gone = once(ours, 'exit');
  expect(await endLeftovers([marks({ MUSTER_ACTION_ID: '6' }), marks()])).toBe(1);
  await gone;
  expect(others.every(isAlive)).toBe(true);
  expect(await endLeftovers([marks()])).toBe(0);
});

it('ends one that ignores SIGTERM', async () => {
  const deaf = await marked(marks(), `trap '' TERM; echo there; while :; do sleep 0.01; done`);
  const gone = once(deaf, 'exit');
  expect(await endLeftovers([marks()], 50)).toBeGreaterThan(0);
  expect((await gone)[1]).toBe('SIGKILL');
});
