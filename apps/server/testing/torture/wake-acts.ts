import type { Call } from './call-log.ts';
import { finding } from './finding.ts';
import type { Act, ActTools } from './stage.ts';
import { handedOut } from './told.ts';

/**
 * A waiting claim gets an action that is queued meanwhile. A claim is parked on its own lane, then comes the disturbance,
 * and in the middle of it an action: this claim must return it, not only the next one.
 */
const WAIT_SECONDS = 25;
/** How long a wake-up may take after the disturbance has ended; an earlier answer proves nothing. */
export const GRACE_MS = 2_000;
const MOST_TRIES = 60;

export interface WakeAct {
  /** The claim waits at the node that takes the action, and not at another one. */
  readonly sameNode?: boolean;
  during(enqueue: () => Promise<void>, on: ActTools): Promise<void>;
}

/** Queues an action with a key until it is acknowledged. */
export async function enqueueSurely(on: ActTools, lane: string, node: number): Promise<void> {
  const client = on.client(`${lane}-enqueuer`);
  const mark = on.nextMark();
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    const body = { kind: 'probe', payload: { mark } };
    const ask = { op: 'enqueue' as const, id: null, lane, body, key: `key ${mark}`, node };
    if ((await client.call(`/api/lanes/${lane}/actions`, ask)).status !== null) return;
  }
}

export function park(on: ActTools, lane: string, node: number, token?: string): Promise<Call> {
  const worker = on.client(`${lane}-worker`, token === undefined ? {} : { token });
  const body = { worker: worker.name, leaseSeconds: 2, wait: WAIT_SECONDS };
  return worker.call(`/api/lanes/${lane}/claim`, { op: 'claim', id: null, lane, body, node });
}

export function wakesUp({ sameNode = false, during }: WakeAct): Act {
  return async (on) => {
    const lane = on.newLane();
    const [waitsAt, comesAt] = sameNode ? [0, 0] : [1, 0];
    let answeredAt = Number.POSITIVE_INFINITY;
    const parked = park(on, lane, waitsAt).finally(() => {
      answeredAt = performance.now();
    });
    await on.later(on.random.int(3, 10));
    await during(() => enqueueSurely(on, lane, comesAt), on);
    const overAt = performance.now();
    const call = await parked;
    if (call.status === 200 && handedOut(call).length === 0 && answeredAt > overAt + GRACE_MS)
      on.found(finding('G39', null, `call ${call.n} waited in ${lane} and missed what came there`));
  };
}

/** A revoked token gets nothing more, not even for a claim that was waiting before. */
export const revokeWhileWaiting: Act = async (on) => {
  const lane = on.newLane();
  const door = on.client(`${lane}-operator`);
  const made = await door.ask('POST', '/api/tokens', { kind: 'worker', name: lane, lanes: [lane] });
  if (made?.status !== 201) return;
  const parked = park(on, lane, 0, String(made.answer.token));
  await on.later(on.random.int(3, 10));
  const gone = await door.ask('DELETE', `/api/tokens/${made.answer.id}`);
  if (gone === null || gone.status >= 300) return;
  await enqueueSurely(on, lane, on.doors - 1);
  const call = await parked;
  if (handedOut(call).length > 0)
    on.found(
      finding('G63', handedOut(call)[0]?.id ?? null, `call ${call.n} got an action for a revoked token`),
    );
};
