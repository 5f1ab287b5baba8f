import { api } from '@muster/contracts';
import type { ActionFilter, Engine } from '@muster/engine';
import type { Act, Audit } from '../../audit/audit.ts';
import type { MusterError } from '../../errors.ts';
import { operators } from '../../http/access.ts';
import { type CallOf, defineRoute, type Route } from '../../http/define-route.ts';
import type { Redriving } from '../../redriving/redriving.ts';
import { actionError } from './errors.ts';
import { filterOf } from './filter.ts';
import type { Lanes } from './lanes.ts';

/** As many as ids can be named. */
const MOST_REFUSALS = 1_000;

/** What an operator does to everything that matches. It runs in chunks, so the audit line comes first and is completed. */
export function filterRoutes(tools: {
  audit: Audit;
  engine: Engine;
  lanes: Lanes;
  redriving: Redriving;
}): Route[] {
  const { audit, engine, lanes, redriving } = tools;

  async function perform<T>(
    act: Act,
    { body, caller }: CallOf<typeof api.actions.cancelMatching>,
    run: (filter: ActionFilter, reason: string | undefined) => Promise<T>,
    nothing: T,
    more: object = {},
  ): Promise<T> {
    const { reason, ...wire } = body;
    const { space: _space, ...named } = wire;
    if (Object.keys(named).length === 0)
      throw actionError(
        'MUSTER_EMPTY_FILTER',
        'Name at least one of lane, channel, kind, tag, ids, state, createdBefore, createdAfter, endedBefore, endedAfter.',
      );
    const filter = await filterOf(lanes, caller.tenantId, wire);
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
            const refusals = [...refused]
              .slice(0, MOST_REFUSALS)
              .map(([id, { code, message }]) => ({ id, code, error: message }));
            return { redriven, refused: refused.size, refusals };
          },
          { redriven: 0, refused: 0, refusals: [] },
          clearError === undefined ? {} : { clearError },
        ),
    }),
  ];
}
