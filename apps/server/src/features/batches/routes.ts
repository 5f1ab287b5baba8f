import { api } from '@muster/contracts';
import type { ActionView, Database, Engine } from '@muster/engine';
import type { Act, Audit } from '../../audit/audit.ts';
import { actionsById, type Target, WHOLE_FLEET } from '../../fleet/index.ts';
import { operators } from '../../http/access.ts';
import { defineRoute, type Route } from '../../http/define-route.ts';
import { readIdempotencyKey } from '../../http/idempotency-key.ts';
import { readPage } from '../../http/page.ts';
import { readBack } from '../../http/read-back.ts';
import { created } from '../../http/replies.ts';
import type { RunSoon } from '../../http/run-soon.ts';
import type { Repeats } from '../../repeats/repeats.ts';
import type { Batches } from './batches.ts';
import type { BatchQueries } from './queries.ts';

const LARGEST_BODY = 16 * 1_048_576;

/** The error that was reported, or our own word for how it ended. */
function errorOf({ error, state }: Target, action: ActionView | undefined): string | undefined {
  if (error !== null) return error;
  const isLost = state === 'failed' || state === 'expired' || state === 'cancelled';
  return isLost ? (action?.error ?? action?.reason ?? undefined) : undefined;
}

export function batchRoutes(tools: {
  audit: Audit;
  batches: Batches;
  db: Database;
  engine: Engine;
  queries: BatchQueries;
  repeats: Repeats;
  supply: RunSoon;
}): Route[] {
  const { audit, batches, db, engine, queries, repeats, supply } = tools;

  const show = async (tenantId: number, id: string) =>
    (await batches.show(db, [await batches.known(db, tenantId, id)]))[0];

  const operation = (verb: 'pause' | 'resume' | 'cancel', act: Act): Route =>
    defineRoute(api.batches[verb], {
      access: operators('operator'),
      async handler({ caller, params }) {
        await audit.change(caller, (tx) => batches[verb](tx, caller.tenantId, params.id, caller.name), {
          act,
          target: `batch ${params.id}`,
        });
        supply.soon();
        return readBack(`batch ${params.id}`, () => show(caller.tenantId, params.id));
      },
    });

  return [
    defineRoute(api.batches.create, {
      access: operators('operator'),
      bodyLimit: LARGEST_BODY,
      async handler({ body, caller, reply, request }) {
        const { tenantId } = caller;
        const key = readIdempotencyKey(request);
        const { answer, isNew } = await audit.change(
          caller,
          async (tx) => {
            const { id, isNew } = await repeats.once(tx, { tenantId, key, said: body }, () =>
              batches.accept(tx, tenantId, body, caller.name),
            );
            const { total } = await batches.known(tx, tenantId, id);
            return { answer: { id, total }, isNew };
          },
          ({ answer, isNew }) =>
            isNew
              ? {
                  act: 'batch.create',
                  target: `batch ${answer.id}`,
                  detail: { kind: body.action.kind, total: answer.total },
                }
              : null,
          WHOLE_FLEET,
        );
        supply.soon();
        if (isNew) created(reply);
        return answer;
      },
    }),

    defineRoute(api.batches.list, {
      access: operators('viewer'),
      async handler({ caller, query }) {
        const { items, cursor } = await readPage(
          query.limit,
          (limit) => queries.list(db, caller.tenantId, { before: query.cursor, limit }),
          (row) => row.batchId,
        );
        return { batches: await batches.show(db, items), cursor };
      },
    }),

    defineRoute(api.batches.get, {
      access: operators('viewer'),
      handler: ({ caller, params }) => show(caller.tenantId, params.id),
    }),

    defineRoute(api.batches.targets, {
      access: operators('viewer'),
      async handler({ caller, params, query }) {
        const batch = await batches.known(db, caller.tenantId, params.id);
        const after = Number(query.cursor ?? 0);
        const { items, cursor } = await readPage(
          query.limit,
          (limit) => batches.targets(db, batch, { state: query.state, after, limit }),
          (row) => String(row.n),
        );
        const ids = items.flatMap(({ actionId }) => actionId ?? []);
        const actions = await actionsById(engine, db, caller.tenantId, ids);
        return {
          targets: items.map((row) => ({
            deviceId: row.deviceId,
            ...(row.deviceName === null ? {} : { deviceName: row.deviceName }),
            target: row.target ?? undefined,
            state: row.state,
            error: errorOf(row, actions.get(row.actionId ?? '')),
            actionId: row.actionId ?? undefined,
            waitingFor: actions.get(row.actionId ?? '')?.waitingFor ?? undefined,
          })),
          cursor,
        };
      },
    }),

    operation('pause', 'batch.pause'),
    operation('resume', 'batch.resume'),
    operation('cancel', 'batch.cancel'),

    defineRoute(api.batches.retry, {
      access: operators('operator'),
      async handler({ body, caller, params }) {
        const answer = await audit.change(
          caller,
          (tx) => batches.retry(tx, { caller, clearError: body.clearError }, params.id),
          (done) => ({ act: 'batch.retry', target: `batch ${params.id}`, detail: done }),
          WHOLE_FLEET,
        );
        supply.soon();
        return answer;
      },
    }),
  ];
}
