import type { Board } from './board.ts';
import type { Call } from './call-log.ts';
import type { Client } from './client.ts';

/**
 * A worker that claims and reports, sometimes badly: it forgets what it holds, asks again for a lost answer, reports twice,
 * late, or for an attempt that is no longer its own.
 */
export interface Held {
  readonly id: string;
  readonly attempt: number;
  readonly lane: string;
}

const WAYS = {
  succeed: 34,
  'succeed-and-next': 24,
  fail: 7,
  'fail-and-next': 5,
  'not-now': 6,
  release: 6,
  extend: 6,
  twice: 5,
  'after-giving-back': 4,
  'never-handed-out': 1,
  forget: 3,
} as const;

type Way = keyof typeof WAYS;

const MOST_TRIES = 25;
const MOST_IN_A_ROW = 10;

/** One claim and what follows from it. */
export async function work(client: Client, board: Board, late: Held[]): Promise<void> {
  const { random } = client;
  const overdue = late[0];
  if (overdue && random.chance(0.1)) {
    late.shift();
    await report(client, overdue, 'succeeded', { tries: 1 });
    return;
  }
  let held = await claim(client, random.pick(board.lanes));
  for (let n = 0; held && n < MOST_IN_A_ROW; n += 1) {
    const way = random.weighted(WAYS);
    if (way === 'forget') {
      late.push(held);
      return;
    }
    held = await settle(client, held, way);
  }
  if (held) late.push(held);
}

/** Claims without chaos until a lane has nothing more for it. */
export async function finish(client: Client, lane: string): Promise<void> {
  for (let held = await claim(client, lane, 0.3); held; ) {
    const call = await report(client, held, 'succeeded', { next: { leaseSeconds: 2 } });
    held = heldBy(call, held.lane) ?? null;
  }
}

async function claim(client: Client, lane: string, wait?: number): Promise<Held | null> {
  const { random } = client;
  const body = {
    worker: client.name,
    leaseSeconds: random.int(1, 2),
    ...(wait === undefined ? (random.chance(0.4) ? { wait: random.int(1, 8) / 10 } : {}) : { wait }),
  };
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    const call = await client.call(`/api/lanes/${lane}/claim`, { op: 'claim', id: null, lane, body });
    if (call.status !== null) return heldBy(call, lane) ?? null;
    // the answer is lost: asked again, the lane returns the same action to the same worker; or the lease ends
    if (random.chance(0.3)) return null;
  }
  return null;
}

async function settle(client: Client, held: Held, way: Way): Promise<Held | null> {
  const { random } = client;
  const next = { leaseSeconds: random.int(1, 2), ...(random.chance(0.2) ? { wait: 0.2 } : {}) };
  switch (way) {
    case 'succeed':
      await report(client, held, 'succeeded');
      return null;
    case 'succeed-and-next':
      return heldBy(await report(client, held, 'succeeded', { next }), held.lane);
    case 'fail':
      await report(client, held, 'failed', { error: 'it broke' });
      return null;
    case 'fail-and-next':
      return heldBy(await report(client, held, 'failed', { next }), held.lane);
    case 'not-now':
      await report(client, held, 'notNow', { retryAfterSeconds: random.int(0, 5) / 10 });
      return null;
    case 'release':
      await act(client, held, 'release', { attempt: held.attempt });
      return null;
    case 'extend':
      await act(client, held, 'extend', { attempt: held.attempt, leaseSeconds: random.int(1, 3) });
      return held;
    case 'twice':
      await report(client, held, 'succeeded');
      return heldBy(await report(client, held, 'succeeded', random.chance(0.5) ? { next } : {}), held.lane);
    case 'after-giving-back': {
      // released, handed out again to any worker, and only then reported: the report is for an older attempt now
      if (random.chance(0.5)) await act(client, held, 'release', { attempt: held.attempt });
      else await report(client, held, 'notNow', { retryAfterSeconds: 0 });
      const again = await claim(client, held.lane);
      const call = await report(client, held, 'succeeded', { tries: 1, next });
      return again ?? heldBy(call, held.lane);
    }
    case 'never-handed-out':
      await act(client, held, 'report', { attempt: held.attempt + random.int(1, 5), status: 'succeeded' });
      return held;
    case 'forget':
      return null;
  }
}

async function report(
  client: Client,
  held: Held,
  status: 'succeeded' | 'failed' | 'notNow',
  { tries = MOST_TRIES, ...more }: { tries?: number } & Record<string, unknown> = {},
): Promise<Call> {
  const body = { attempt: held.attempt, status, worker: client.name, ...more };
  for (let n = 1; ; n += 1) {
    const call = await act(client, held, 'report', body);
    if (call.status !== null || n >= tries || client.random.chance(0.1)) return call;
  }
}

function act(
  client: Client,
  held: Held,
  op: 'report' | 'release' | 'extend',
  body: Record<string, unknown>,
): Promise<Call> {
  return client.call(`/api/actions/${held.id}/${op}`, { op, id: held.id, lane: held.lane, body });
}

/** The actions in an answer. */
function heldBy(call: Call, lane: string): Held | null {
  const [action] = (call.status === 200 ? (call.answer?.actions ?? []) : []) as {
    id: string;
    attempt: number;
  }[];
  return action ? { id: action.id, attempt: action.attempt, lane } : null;
}
