import { api } from '@muster/contracts';
import type { ActionFilter, Engine } from '@muster/engine';
import type { Act, Audit } from '../../audit/audit.ts';
import type { MusterError } from '../../errors.ts';
import { DeviceInError } from '../../fleet/index.ts';
import { operators } from '../../http/access.ts';
import { type CallOf, defineRoute, type Route } from '../../http/define-route.ts';
import type { InternalChannels } from '../../internal/internal-channels.ts';
import type { Moving } from '../../moving/moving.ts';
import type { Redriving } from '../../redriving/redriving.ts';
import { actionError } from './errors.ts';
import { filterOf } from './filter.ts';
import type { Lanes } from './lanes.ts';

/** As many as the largest list of ids. */
const MOST_REFUSALS = 1_000;

/**
 * Changes by an operator of everything that matches. They run in chunks, so the audit line comes first and is completed
 * at the end.
 */
export function filterRoutes(tools: {
  audit: Audit;
  engine: Engine;
  internalChannels: InternalChannels;
  lanes: Lanes;
  moving: Moving;
  redriving: Redriving;
}): Route[] {
  const { audit, engine, moving, redriving } = tools;

  async function perform<T>(
    act: Act,
    { body, caller }: CallOf<typeof api.actions.cancelMatching>,
    run: (filter: ActionFilter, reason: string | undefined) => Promise<T>,
    nothing: T,
    more: object = {},
  ): Promise<T> {
    const { reason, ...wire } = body;
    // neither selects anything by itself
    const { internal: _internal, space: _space, ...named } = wire;
    if (Object.keys(named).length === 0)
      throw actionError(
        'MUSTER_EMPTY_FILTER',
        'Give at least one of lane, channel, kind, tag, ids, state, createdBefore, createdAfter, endedBefore, endedAfter.',
      );
    const filter = await filterOf(tools, caller.tenantId, wire);
    if (!filter) return nothing;
    const complete = await audit.begin(caller, {
      act,
      target: 'matching actions',
      detail: { filter: wire, reason, ...more },
    });
    const outcome = await run(filter, reason);
    await complete(outcome);
    return outcome;
  }

  return [
    defineRoute(api.actions.cancelMatching, {
      access: operators('operator'),
      handler: (call) =>
        perform('action.cancel', call, (filter, reason) => engine.cancelMatching(engine.db, filter, reason), {
          cancelled: 0,
          requested: 0,
        }),
    }),
    defineRoute(api.actions.makeDueMatching, {
      access: operators('operator'),
      handler: (call) =>
        perform(
          'action.make-due',
          call,
          (filter, reason) =>
            engine.makeDueMatching(engine.db, filter, reason, (client, ids) =>
              moving.mayBeDue(client, filter.tenantId, ids),
            ),
          { due: 0 },
        ),
    }),
    defineRoute(api.actions.redriveMatching, {
      access: operators('operator'),
      handler: ({ body: { clearError, ...body }, ...call }) =>
        perform(
          'action.redrive',
          { ...call, body },
          async (filter, reason) => {
            const { tenantId } = call.caller;
            const refused = new Map<string, MusterError>();
            const { redriven } = await engine.redriveMatching(engine.db, filter, reason, async (tx, ids) => {
              const now = await redriving.refusals(tx, tenantId, ids, { caller: call.caller, clearError });
              for (const [id, error] of now) refused.set(id, error);
              return ids.filter((id) => !now.has(id));
            });
            const refusals = [...refused].slice(0, MOST_REFUSALS).map(([id, error]) => ({
              ...{ id, code: error.code, error: error.message },
              ...(error instanceof DeviceInError ? { device: error.device } : {}),
            }));
            return { redriven, refused: refused.size, refusals };
          },
          { redriven: 0, refused: 0, refusals: [] },
          clearError === undefined ? {} : { clearError },
        ),
    }),
  ];
}
