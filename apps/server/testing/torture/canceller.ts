import type { Board } from './board.ts';
import type { Client } from './client.ts';

/** An operator who cancels actions. */
export async function cancel(client: Client, board: Board): Promise<void> {
  const found = board.some(client.random.int(0, Math.max(0, board.size - 1)));
  if (!found) return;
  await client.call(`/api/actions/${found.id}/cancel`, {
    op: 'cancel',
    ...found,
    body: { reason: 'no more' },
  });
}
