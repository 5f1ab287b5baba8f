import { randomUUID } from 'node:crypto';
import { api } from '@muster/contracts';
import type { Queryable } from '@muster/engine';
import type { Act } from '../../audit/audit.ts';
import type { Shell } from '../../feature.ts';
import { operators } from '../../http/access.ts';
import { defineRoute, type Route } from '../../http/define-route.ts';
import { readPage } from '../../http/page.ts';
import { readBack } from '../../http/read-back.ts';
import { refuseEmpty } from '../../http/refuse-empty.ts';
import { created, gone } from '../../http/replies.ts';
import type { Caller } from '../../tokens/caller.ts';
import { requestOf } from './deliverer.ts';
import type { WebhookQueries } from './queries.ts';
import type { SecretsOf } from './secrets.ts';
import { cloudEvent } from './told-events.ts';
import { tryOf } from './tries.ts';
import type { Webhooks } from './webhooks.ts';
import { textOf, wireWebhook } from './wire.ts';

/** A webhook sends events out of the tenant, so only admins say where to. */
const admins = operators('admin');
const viewers = operators('viewer');
const PING_MS = 10_000;

export function webhookRoutes(
  { audit, db, engine, outgoing }: Pick<Shell, 'audit' | 'db' | 'engine' | 'outgoing'>,
  tools: { queries: WebhookQueries; secretsOf: SecretsOf; webhooks: Webhooks },
): Route[] {
  const { queries, secretsOf, webhooks } = tools;
  const target = (id: string) => `webhook ${id}`;

  const show = async (tenantId: number, id: string) => wireWebhook(await webhooks.known(db, tenantId, id));

  async function change(
    caller: Caller,
    id: string,
    act: Act,
    run: (tx: Queryable) => Promise<unknown>,
    detail?: unknown,
  ) {
    // a repeated change that alters nothing is not logged
    await audit.change(caller, run, (answer) =>
      answer === false ? null : { act, target: target(id), detail },
    );
    return readBack(target(id), () => show(caller.tenantId, id));
  }

  return [
    defineRoute(api.webhooks.create, {
      access: admins,
      async handler({ body, caller, reply }) {
        const { secret, webhookId: id } = await audit.change(
          caller,
          (tx) => webhooks.create(tx, caller.tenantId, body, caller.name),
          ({ webhookId }) => ({ act: 'webhook.create', target: target(webhookId), detail: body }),
        );
        created(reply);
        return { ...(await readBack(target(id), () => show(caller.tenantId, id))), secret };
      },
    }),
    defineRoute(api.webhooks.list, {
      access: viewers,
      async handler({ caller, query }) {
        const { cursor, items } = await readPage(
          query.limit,
          (limit) => queries.list(db, caller.tenantId, { before: query.cursor, limit }),
          (row) => row.webhookId,
        );
        return { webhooks: items.map(wireWebhook), cursor };
      },
    }),
    defineRoute(api.webhooks.get, {
      access: viewers,
      async handler({ caller: { tenantId }, params }) {
        const row = await webhooks.known(db, tenantId, params.id);
        return { ...wireWebhook(row), waiting: await queries.waiting(db, row) };
      },
    }),
    defineRoute(api.webhooks.update, {
      access: admins,
      handler({ body, caller, params: { id } }) {
        refuseEmpty(body);
        const update = (tx: Queryable) => webhooks.update(tx, caller.tenantId, id, body);
        return change(caller, id, 'webhook.update', update, body);
      },
    }),
    defineRoute(api.webhooks.remove, {
      access: admins,
      async handler({ caller, params: { id }, reply }) {
        await audit.change(caller, (tx) => webhooks.remove(tx, caller.tenantId, id), {
          act: 'webhook.delete',
          target: target(id),
        });
        return gone(reply);
      },
    }),
    defineRoute(api.webhooks.pause, {
      access: admins,
      handler: ({ body, caller, params: { id } }) =>
        change(
          caller,
          id,
          'webhook.pause',
          (tx) => webhooks.pause(tx, caller.tenantId, id, body.reason),
          body,
        ),
    }),
    defineRoute(api.webhooks.resume, {
      access: admins,
      handler: ({ body, caller, params: { id } }) =>
        change(
          caller,
          id,
          'webhook.resume',
          (tx) => webhooks.resume(tx, caller.tenantId, id, body.skipMissed ?? false),
          body,
        ),
    }),
    defineRoute(api.webhooks.rotateSecret, {
      access: admins,
      async handler({ caller, params: { id } }) {
        const { formerUntil, secret } = await audit.change(
          caller,
          (tx) => webhooks.rotateSecret(tx, caller.tenantId, id),
          { act: 'webhook.rotate-secret', target: target(id) },
        );
        return { secret, formerUntil: formerUntil.toISOString() };
      },
    }),
    defineRoute(api.webhooks.ping, {
      access: admins,
      async handler({ caller: { tenantId, name }, params }) {
        const row = await webhooks.known(db, tenantId, params.id);
        const at = engine.now();
        const event = cloudEvent({
          ...{ tenantId, at, id: `ping_${randomUUID()}`, type: 'webhook.ping' },
          ...{ subject: `webhook/${params.id}`, data: { by: name } },
        });
        const answer = await outgoing.send({
          ...requestOf(row, secretsOf(row, at), at, event),
          timeoutMs: PING_MS,
        });
        const { body, error, status, tookMs } = tryOf(answer);
        return { status, error, body: textOf(body), tookMs };
      },
    }),
  ];
}
