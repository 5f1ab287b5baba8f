import type { ActionView, Engine } from '@muster/engine';
import type { Copying } from '../../copying/copying.ts';
import { DEVICE_SPACE, type Fleet } from '../../fleet/index.ts';
import type { Moving } from '../../moving/moving.ts';
import type { Naming } from '../../naming/naming.ts';
import { wireAction } from './wire.ts';

/** Actions with what made them and what their devices are called, if that is known: a read more for a page for each. */
export type Show = ReturnType<typeof createShow>;

interface Tools {
  readonly engine: Engine;
  readonly fleet: Fleet;
  readonly copying: Copying;
  readonly moving: Moving;
  readonly naming: Naming;
}

const isNamed = (name: string | null) => name !== null;

export function createShow({ copying, engine, fleet, moving, naming }: Tools) {
  const fixedOf = (action: ActionView) => {
    const fixed = moving.fixedOf(action);
    return copying.isRefused(action.channel) ? [...(fixed ?? []), 'copy' as const] : fixed;
  };
  return async (tenantId: number, actions: readonly ActionView[]) => {
    const ids = actions.map(({ id }) => id);
    const origins = await fleet.originsOf(engine.db, tenantId, ids);
    const deviceOf = ({ laneName, space }: ActionView) => (space === DEVICE_SPACE ? laneName : null);
    const names = await fleet.namesOf(engine.db, tenantId, actions.map(deviceOf).filter(isNamed));
    return actions.map((action) => ({
      ...wireAction(action),
      ...origins.get(action.id),
      name: naming.nameOf(action),
      fixed: fixedOf(action),
      deviceName: names.get(deviceOf(action) ?? ''),
    }));
  };
}
