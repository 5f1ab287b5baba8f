import { randomUUID } from 'node:crypto';
import { WEBHOOK_ERRORS } from '@muster/contracts/words';
import { whileLocked } from '@muster/engine';
import { MusterError } from '../../errors.ts';
import type { CreateFeature, Feature, Shell } from '../../feature.ts';
import { WEBHOOKS } from './channel.ts';
import { startDeliverer } from './deliverer.ts';
import { createDeliveries } from './deliveries.ts';
import { deliveryRoutes } from './delivery-routes.ts';
import { createMetrics } from './metrics.ts';
import { createPausedProblem } from './paused-problem.ts';
import { createPlaceQueries } from './place-queries.ts';
import { pruneWebhooks } from './prune-webhooks.ts';
import { createWebhookQueries } from './queries.ts';
import { createQueueing } from './queueing.ts';
import { Reader } from './reader.ts';
import { createReading } from './reading.ts';
import { givePausedReasons } from './reasons.ts';
import { webhookRoutes } from './routes.ts';
import { createSecretsOf } from './secrets.ts';
import { Senders } from './senders.ts';
import { createTries } from './tries.ts';
import { createWebhooks } from './webhooks.ts';

/**
 * Sends events to subscribed endpoints:
 *
 *   event feed ──read on, one page a transaction──► actions in the lanes of webhooks ──sent──► endpoints
 *
 * A page and its place are stored in one transaction, so nothing is lost or queued twice; a queued delivery is retried
 * until it is accepted. Each endpoint has its own lanes and senders, so a slow or dead one holds up no other.
 */
function create(shell: Shell): Feature {
  const { alerts, config, db, doorEvents: doors, engine, log, outgoing, registry, secrets } = shell;
  shell.internalChannels.add(WEBHOOKS);
  givePausedReasons(engine);

  const queries = createWebhookQueries(engine.schema, engine.now);
  const places = createPlaceQueries(engine.schema, engine.now);
  const queue = createQueueing(engine);
  const deliveries = createDeliveries(engine);
  const tries = createTries(engine);
  const secretsOf = createSecretsOf(secrets);
  const reader = new Reader({
    ...{ engine, log, reading: createReading({ doors, engine, places, queries, queue }) },
  });
  const changed = () => {
    senders.lookSoon();
    reader.wake();
  };
  const webhooks = createWebhooks({
    ...{ alerts, changed, deliveries, engine, outgoing, places, queries, queue, secrets },
  });
  const tools = {
    metrics: createMetrics({ engine, log, registry }),
    ...{ engine, log, outgoing, queries, secretsOf, tries, worker: `webhooks-${randomUUID()}` },
    lookSoon: () => senders.lookSoon(),
    pause: (webhook: { tenantId: number; webhookId: string }, reason: string) =>
      whileLocked(db, (tx) => webhooks.pauseDead(tx, webhook, reason)),
  };
  const senders: Senders = new Senders({
    ...{ db, log, places, queries },
    begin: (webhook) => startDeliverer(tools, webhook),
  });
  // a webhook's secret signs only events that happened: a copy could have any payload
  shell.copying.refuse(
    WEBHOOKS,
    () => new MusterError('MUSTER_NOT_COPIED', 409, 'Webhook deliveries cannot be copied. Replay them.'),
  );
  shell.problems.add(createPausedProblem(engine.schema));
  engine.addDuty(pruneWebhooks(engine, config.MUSTER_RETENTION_DAYS));

  return {
    name: 'webhooks',
    errors: WEBHOOK_ERRORS,
    routes: [
      ...webhookRoutes(shell, { queries, secretsOf, webhooks }),
      ...deliveryRoutes(shell, { deliveries, tries, webhooks }),
    ],
    async start() {
      await senders.start();
      reader.start();
    },
    async stop() {
      await reader.stop();
      await senders.stop();
    },
  };
}

export const webhooks: CreateFeature = Object.assign(create, { lanesOfNobody: [WEBHOOKS] });
