import type { Engine, Queryable } from '@muster/engine';
import type { OrderRow } from './wire.ts';

const PAUSED = ['LANE_PAUSED', 'TENANT_PAUSED', 'TAG_PAUSED', 'LANE_BLOCKED'];

/** Why a waiting order was not handed to a free bot, from the engine's reason for its action. */
export async function whyUnavailable(engine: Engine, client: Queryable, row: OrderRow): Promise<string> {
  const view = await engine.get(client, row.tenant_id, row.action_id);
  const { code, text, until } = view?.waitingFor ?? {};
  if (code === undefined) return 'The order has just been deleted.';
  if (PAUSED.includes(code)) return `The order is not handed out while it is paused. ${text}`;
  if (code === 'RUNNING' || code === 'CANCEL_REQUESTED') return 'Another bot has the order now.';
  if (until) return `The order waits until ${until.toISOString()}. ${text}`;
  return 'The order or the bot has just changed. Try again.';
}
