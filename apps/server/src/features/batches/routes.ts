import type { Database } from '@muster/engine';
import { readBack } from '../../after-commit.ts';
import { type Act, type Audit, by } from '../../audit/audit.ts';
import { change, SLOW } from '../../changes.ts';
import type { TargetSets } from '../../fleet/index.ts';
import { operators } from '../../http/access.ts';
import { defineRoute, type Route } from '../../http/define-route.ts';
import { created } from '../../http/replies.ts';
import type { RunSoon } from '../../run-soon.ts';
import { accepted, batch, batches as batchPage, retried, targetPage } from './answers.ts';
import type { Batches } from './batches.ts';
import type { BatchQueries } from './queries.ts';
import { batchBody, idParams, pageQuery, targetsQuery } from './schemas.ts';

const LARGEST_BODY = 16 * 1_048_576;
const DEFAULT_PAGE = 100;

export function batchRoutes(tools: {
  audit: Audit;
  batches: Batches;
  db: Database;
  queries: BatchQueries;
  sets: TargetSets;
  supply: RunSoon;
}): Route[] {
  const { audit, batches, db, queries, sets, supply } = tools;

  const show = async (tenantId: number, id: string) =>
    (await batches.show(db, [await batches.known(db, tenantId, id)]))[0];

  const operation = (verb: 'pause' | 'resume' | 'cancel', act: Act, summary: string): Route =>
    defineRoute({
      method: 'POST',
      path: `/api/batches/:id/${verb}`,
      access: operators('operator'),
      summary,
      params: idParams,
      responses: { 200: { description: 'The batch as it is now.', schema: batch } },
      async handler({ caller, params }) {
        await change(db, async (tx) => {
          await batches[verb](tx, caller.tenantId, params.id);
          await audit.write(tx, { ...by(caller), act, target: `batch ${params.id}` });
        });
        supply.soon();
        return readBack(`batch ${params.id}`, () => show(caller.tenantId, params.id));
      },
    });

  return [
    defineRoute({
      method: 'POST',
      path: '/api/batches',
      access: operators('operator'),
      summary: 'One action for many devices, at a pace and with a rule for stopping if you like',
      bodyLimit: LARGEST_BODY,
      body: batchBody,
      responses: { 201: { description: 'The targets are frozen; their actions follow.', schema: accepted } },
      async handler({ body, caller, reply }) {
        const answer = await change(
          db,
          async (tx) => {
            const made = await batches.accept(tx, caller.tenantId, body, caller.name);
            await audit.write(tx, {
              ...by(caller),
              act: 'batch.create',
              target: `batch ${made.id}`,
              detail: { kind: body.action.kind, total: made.total },
            });
            return made;
          },
          SLOW,
        );
        supply.soon();
        created(reply);
        return answer;
      },
    }),

    defineRoute({
      method: 'GET',
      path: '/api/batches',
      access: operators('viewer'),
      summary: 'List batches, newest first',
      query: pageQuery,
      responses: { 200: { description: 'A page; the cursor leads to older ones.', schema: batchPage } },
      async handler({ caller, query }) {
        const limit = query.limit ?? 20;
        const rows = await queries.list(db, caller.tenantId, { before: query.cursor, limit: limit + 1 });
        const page = rows.slice(0, limit);
        return {
          batches: await batches.show(db, page),
          cursor: rows.length > limit ? (page.at(-1)?.batchId ?? null) : null,
        };
      },
    }),

    defineRoute({
      method: 'GET',
      path: '/api/batches/:id',
      access: operators('viewer'),
      summary: 'One batch, with counts that are exact at this moment',
      params: idParams,
      responses: { 200: { description: 'As it is now.', schema: batch } },
      handler: ({ caller, params }) => show(caller.tenantId, params.id),
    }),

    defineRoute({
      method: 'GET',
      path: '/api/batches/:id/targets',
      access: operators('viewer'),
      summary: 'The devices of a batch and what became of each',
      params: idParams,
      query: targetsQuery,
      responses: { 200: { description: 'A page; the cursor leads to the next one.', schema: targetPage } },
      async handler({ caller, params, query }) {
        const { setId, tenantId } = await batches.known(db, caller.tenantId, params.id);
        const limit = query.limit ?? DEFAULT_PAGE;
        const rows = await sets.list(db, tenantId, setId, {
          state: query.state,
          after: Number(query.cursor ?? 0),
          limit: limit + 1,
        });
        const page = rows.slice(0, limit);
        return {
          targets: page.map((row) => ({
            deviceId: row.deviceId,
            target: row.target ?? undefined,
            state: row.state,
            error: row.error ?? undefined,
            actionId: row.actionId ?? undefined,
          })),
          cursor: rows.length > limit ? String(page.at(-1)?.n) : null,
        };
      },
    }),

    operation('pause', 'batch.pause', 'Nothing more of the batch is put into lanes or handed out'),
    operation('resume', 'batch.resume', 'A paused batch goes on'),
    operation('cancel', 'batch.cancel', 'Ends the batch: what waits is cancelled, what runs is told'),

    defineRoute({
      method: 'POST',
      path: '/api/batches/:id/retry',
      access: operators('operator'),
      summary: 'Retry what failed and what never started',
      params: idParams,
      responses: { 200: { description: 'How many.', schema: retried } },
      async handler({ caller, params }) {
        const answer = await change(
          db,
          async (tx) => {
            const done = await batches.retry(tx, caller.tenantId, params.id);
            await audit.write(tx, {
              ...by(caller),
              act: 'batch.retry',
              target: `batch ${params.id}`,
              detail: done,
            });
            return done;
          },
          SLOW,
        );
        supply.soon();
        return answer;
      },
    }),
  ];
}
