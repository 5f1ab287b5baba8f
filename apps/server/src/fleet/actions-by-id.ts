import type { ActionView, Engine, Queryable } from '@muster/engine';

/** These actions, for a list with a row for each that says why it waits or how it ended: one read for a page. */
export async function actionsById(
  engine: Engine,
  client: Queryable,
  tenantId: number,
  ids: readonly string[],
): Promise<Map<string, ActionView>> {
  if (ids.length === 0) return new Map();
  const { actions } = await engine.list(client, { tenantId, ids: [...ids] }, { limit: ids.length });
  return new Map(actions.map((action) => [action.id, action]));
}
