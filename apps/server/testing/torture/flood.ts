import { setTimeout as pause } from 'node:timers/promises';
import { finding } from './finding.ts';
import type { Act } from './stage.ts';

/**
 * Far more than a server can hold while its database stands still. A call that cannot be served must be refused; a server that
 * accepts everything dies of it, which its supervisor reports.
 */
const CALLS = 2_500;
const BYTES = 100_000;
const LANES = 20;
/** On a busy machine it takes longer until everything has arrived: the database stays frozen until the first refusal. */
const LONGEST_MS = 120_000;

export function flood(options: { freeze(): void; thaw(): void; ms: number }): Act {
  return async (on) => {
    const lanes = Array.from({ length: LANES }, () => on.newLane());
    const client = on.client(`flood-${lanes[0]}`, { sockets: 500, patienceMs: LONGEST_MS });
    const filler = 'x'.repeat(BYTES);
    options.freeze();
    const frozenAt = performance.now();
    let thawed = false;
    let refused = 0;
    let hear = () => {};
    const first = new Promise<void>((resolve) => {
      hear = resolve;
    });
    const calls = Array.from({ length: CALLS }, async (_, n) => {
      const lane = lanes[n % LANES] as string;
      const body = { kind: 'flood', payload: { mark: on.nextMark(), filler } };
      const { error } = await client.call(`/api/lanes/${lane}/actions`, {
        op: 'enqueue',
        id: null,
        lane,
        body,
      });
      if (thawed || !error?.startsWith('503')) return;
      refused += 1;
      hear();
    });
    await Promise.race([first, pause(LONGEST_MS)]);
    await pause(Math.max(0, options.ms - (performance.now() - frozenAt)));
    thawed = true;
    options.thaw();
    await Promise.all(calls);
    if (refused === 0) on.found(finding('G36', null, 'no call was refused while the database stood still'));
  };
}
