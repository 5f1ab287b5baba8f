import type { ActionView, Engine } from '@muster/engine';
import type { Copying } from '../../copying/copying.ts';
import type { Fleet } from '../../fleet/index.ts';
import type { Moving } from '../../moving/moving.ts';
import type { Naming } from '../../naming/naming.ts';
import { wireAction } from './wire.ts';

/** Actions with their origin, and the names of their targets and workers: one more read each for a page. */
export type Show = ReturnType<typeof createShow>;

interface Tools {
  readonly engine: Engine;
  readonly fleet: Fleet;
  readonly copying: Copying;
  readonly moving: Moving;
  readonly naming: Naming;
}

export function createShow({ copying, engine, fleet, moving, naming }: Tools) {
  const fixedOf = (action: ActionView) => {
    const fixed = moving.fixedOf(action);
    return copying.isRefused(action.channel) ? [...(fixed ?? []), 'copy' as const] : fixed;
  };
  return async (tenantId: number, actions: readonly ActionView[]) => {
    const ids = actions.map(({ id }) => id);
    const origins = await fleet.originsOf(engine.db, tenantId, ids);
    const names = await naming.targetNamesOf(engine.db, tenantId, actions);
    return actions.map((action, place) =>
      Object.assign(
        wireAction(action, action),
        origins.get(action.id),
        { name: naming.nameOf(action), fixed: fixedOf(action) },
        names[place],
      ),
    );
  };
}
