import type { ActionView, Engine } from '@muster/engine';
import type { Fleet } from '../../fleet/index.ts';
import { wireAction } from './wire.ts';

/** Actions with what made them, if that is known: one read more for a page. */
export type Show = ReturnType<typeof createShow>;

export function createShow(engine: Engine, fleet: Fleet) {
  return async (tenantId: number, actions: readonly ActionView[]) => {
    const ids = actions.map(({ id }) => id);
    const origins = await fleet.originsOf(engine.db, tenantId, ids);
    return actions.map((action) => ({ ...wireAction(action), ...origins.get(action.id) }));
  };
}
