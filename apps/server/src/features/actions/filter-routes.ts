import type { ActionFilter, Engine } from '@muster/engine';
import { z } from 'zod';
import { type Act, type Audit, by } from '../../audit/audit.ts';
import { operators } from '../../http/access.ts';
import { type Call, defineRoute, type Route } from '../../http/define-route.ts';
import { actionError } from './errors.ts';
import { filterOf } from './filter.ts';
import type { Lanes } from './lanes.ts';
import { filterBody } from './schemas.ts';

/** What an operator does to everything that matches. It runs in chunks, so the audit line comes first and is completed. */
export function filterRoutes(tools: { audit: Audit; engine: Engine; lanes: Lanes }): Route[] {
  const { audit, engine, lanes } = tools;

  async function perform<T>(
    act: Act,
    { body, caller }: Call<z.input<typeof filterBody>, unknown, unknown>,
    run: (filter: ActionFilter, reason: string | undefined) => Promise<T>,
    nothing: T,
  ): Promise<T> {
    const { reason, ...wire } = body;
    const { space: _space, ...named } = wire;
    if (Object.keys(named).length === 0)
      throw actionError(
        'MUSTER_EMPTY_FILTER',
        'Name at least one of lane, channel, kind, tag, ids, state, createdBefore, createdAfter.',
      );
    const filter = await filterOf(lanes, caller.tenantId, wire);
    if (!filter) return nothing;
    const line = await audit.write(engine.db, {
      ...by(caller),
      act,
      target: 'matching actions',
      detail: { filter: wire, reason },
    });
    const outcome = await run(filter, reason);
    await audit.complete(engine.db, caller.tenantId, line, outcome);
    return outcome;
  }

  return [
    defineRoute({
      method: 'POST',
      path: '/api/actions/cancel',
      access: operators('operator'),
      summary: 'Cancel every unfinished action that matches',
      body: filterBody,
      responses: {
        200: {
          description: 'How many ended at once, and how many running ones were told to stop.',
          schema: z.strictObject({ cancelled: z.int(), requested: z.int() }),
        },
      },
      handler: (call) =>
        perform('action.cancel', call, (filter, reason) => engine.cancelMatching(engine.db, filter, reason), {
          cancelled: 0,
          requested: 0,
        }),
    }),
    defineRoute({
      method: 'POST',
      path: '/api/actions/redrive',
      access: operators('operator'),
      summary: 'Queue every dead letter that matches again',
      body: filterBody,
      responses: {
        200: { description: 'How many are pending again.', schema: z.strictObject({ redriven: z.int() }) },
      },
      handler: (call) =>
        perform(
          'action.redrive',
          call,
          (filter, reason) => engine.redriveMatching(engine.db, filter, reason),
          {
            redriven: 0,
          },
        ),
    }),
  ];
}
