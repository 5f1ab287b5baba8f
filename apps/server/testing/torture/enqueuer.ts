import type { Board } from './board.ts';
import type { Client } from './client.ts';

/** Queues actions of every kind. With a key it repeats until it is answered; without one it never does. */
const SORTS = { plain: 45, keyed: 22, urgent: 10, delayed: 8, replacing: 8, keeping: 7 } as const;
const MOST_TRIES = 25;

export async function enqueue(client: Client, board: Board): Promise<void> {
  const { random } = client;
  const sort = random.weighted(SORTS);
  const lane = random.pick(board.lanes);
  const mark = board.nextMark();
  const body = {
    kind: sort,
    payload: { mark },
    ...(random.chance(0.1) ? { headOfLine: 'hold' } : {}),
    ...(random.chance(0.3) ? { maxAttempts: random.int(1, 3) } : {}),
    ...(sort === 'urgent' ? { priority: 'urgent' } : {}),
    ...(sort === 'delayed' ? { notBefore: new Date(Date.now() + random.int(50, 1_500)).toISOString() } : {}),
    ...(sort === 'replacing' ? { supersede: { key: random.pick(['lock', 'sync']), mode: 'replace' } } : {}),
    ...(sort === 'keeping' ? { supersede: { key: 'refresh', mode: 'keep-first' } } : {}),
  };
  const key = sort === 'keyed' ? `key ${mark}` : undefined;
  for (let tries = 0; tries < (key === undefined ? 1 : MOST_TRIES); tries += 1) {
    const { status, answer } = await client.call(`/api/lanes/${lane}/actions`, {
      op: 'enqueue',
      id: null,
      lane,
      body,
      ...(key === undefined ? {} : { key }),
    });
    if (status === 200 || status === 201) board.add(String(answer?.id), lane);
    if (status !== null) return;
  }
}
