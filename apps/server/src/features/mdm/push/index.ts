import { api } from '@muster/contracts';
import { PUSH_ERRORS } from '@muster/contracts/words';
import { dutyRun, gather, isTransaction, type Queryable, whileLocked } from '@muster/engine';
import type { Feature, Shell } from '../../../feature.ts';
import { deviceOf } from '../../../fleet/index.ts';
import { only } from '../../../http/access.ts';
import { defineRoute } from '../../../http/define-route.ts';
import { isId } from '../../../http/ids.ts';
import { gone } from '../../../http/replies.ts';
import { DEFAULT_TENANT } from '../../../tenants/default-tenant.ts';
import { certificateRoute, certificatesRoute } from './certificate-route.ts';
import { type Certificates, createCertificates } from './certificates.ts';
import { certificatesOfSettings } from './certificates-of-settings.ts';
import { watchExpiry } from './expiry.ts';
import { Faults } from './faults.ts';
import { createLedger } from './ledger.ts';
import { createMessages } from './messages.ts';
import { Providers } from './providers.ts';
import { createPushMetrics } from './push-metrics.ts';
import { createPushProblems } from './push-problems.ts';
import { Pusher } from './pusher.ts';
import type { OnAppToken, OnDead, OnMessage, Pushes } from './pushes.ts';
import { createTopics } from './topics.ts';

/**
 * The push side of device management: `pushes` for all that have something for a device, and what it adds to the
 * feature.
 */
export interface PushPart extends Required<Pick<Feature, 'errors' | 'routes'>> {
  readonly pushes: Pushes;
  /** Of tenants. */
  readonly certificates: Certificates;
  /** Resolves when no push is on its way and all outcomes are stored. */
  idle(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

export const PUSH_DEVICES = 'push-devices';

export function createPushPart(shell: Shell): PushPart {
  const { alerts, audit, config, db, engine, log, problems, registry, secrets } = shell;
  const { now, schema } = engine;
  const ofSettings = certificatesOfSettings(config);
  const ledger = createLedger(schema, now, db);
  const topics = createTopics(schema, now);
  const providers = new Providers({
    certificates: ofSettings,
    db,
    schema,
    secrets,
    topics,
    url: config.APNS_URL,
  });
  const certificates = createCertificates({ providers, secrets, topics });
  const faults = new Faults({ alerts, db, now, topics });
  const metrics = createPushMetrics(registry);
  const onDead: OnDead[] = [];
  const onMessage: OnMessage[] = [];
  const onAppToken: OnAppToken[] = [];
  const parts = { db, faults, ledger, log, metrics, now, providers, schema, topics };
  const pusher = new Pusher({ ...parts, onDead });
  const messageTopic = ofSettings.message?.topic ?? null;
  const messages = createMessages({ ...parts, told: onMessage, topic: messageTopic });

  engine.addDuty({
    name: PUSH_DEVICES,
    everyMs: 1_000,
    due: `${ledger.isAnyDue} or ${messages.isAnyDue}`,
    isOutside: true, // a push is taken and committed before it is sent
    async runOnce() {
      const taken = (await pusher.look(db.gathered, null)) + (await messages.look(db));
      return dutyRun(taken, 1);
    },
  });
  problems.add(createPushProblems(providers, topics, now));
  engine.addDuty(watchExpiry({ alerts, db, log, now, providers, registry, topics }));

  const seen = gather({
    name: 'push-seen',
    inFlightAtOnce: 1,
    deadlineMs: db.deadlineMs,
    async run(devices: readonly { tenantId: number; deviceId: string; want: string | null }[]) {
      for (const tenantId of await ledger.seen(db.gathered, devices)) pusher.soon(tenantId);
      return devices.map(() => undefined);
    },
  });
  const afterCommit = (client: Queryable, run: () => void) =>
    isTransaction(client) ? client.afterCommit(run) : run();

  const pushes: Pushes = {
    async tokenIs(tx, tenantId, deviceId, token) {
      await ledger.tokenIs(tx, tenantId, deviceId, token);
      afterCommit(tx, () => pusher.soon(tenantId));
    },
    async want(tx, tenantId, deviceIds, how) {
      if (deviceIds.length === 0) return;
      await ledger.want(tx, tenantId, deviceIds);
      if (!how?.quietly) afterCommit(tx, () => pusher.soon(tenantId));
    },
    seen: (tenantId, deviceId, want) => seen({ tenantId, deviceId, want: want ?? null }),
    async forget(tx, tenantId, deviceId, what = 'mdm') {
      if (isId(deviceId)) await ledger.forget(tx, tenantId, deviceId, what);
    },
    onDead: (told) => void onDead.push(told),
    async message(tx, tenantId, deviceId, message) {
      await messages.add(tx, tenantId, deviceId, message);
      afterCommit(tx, () => messages.soon());
    },
    onMessage: (told) => void onMessage.push(told),
    onAppToken: (told) => void onAppToken.push(told),
    deadReasonOf: ledger.deadReasonOf,
    now: (tenantId, deviceIds) => pusher.now(tenantId, deviceIds.filter(isId)),
    topicOf: async (client, tenantId) =>
      (await topics.newest(client, tenantId)) ?? ofSettings.mdm?.topic ?? null,
    knowsTopic: async (client, tenantId, topic) =>
      topic === ofSettings.mdm?.topic || (await topics.get(client, tenantId, topic)) !== null,
  };

  return {
    certificates,
    errors: PUSH_ERRORS,
    pushes,
    async idle() {
      await pusher.idle();
      await messages.idle();
    },
    routes: [
      certificateRoute(audit, certificates, { db, topics, now }),
      certificatesRoute(db, providers, topics),
      defineRoute(api.push.putToken, {
        access: only('device'),
        async handler({ body, caller, reply }) {
          const { deviceId } = deviceOf(caller);
          const token = Buffer.from(body.token, 'hex');
          await whileLocked(db, async (tx) => {
            await ledger.messageTokenIs(tx, caller.tenantId, deviceId, token, messageTopic);
            for (const told of onAppToken) await told(tx, caller.tenantId, deviceId);
          });
          return gone(reply);
        },
      }),
    ],
    async start() {
      if (ofSettings.mdm) await topics.ensure(db, DEFAULT_TENANT, ofSettings.mdm.topic);
      await providers.start();
    },
    async stop() {
      await pusher.stop();
      await messages.stop();
    },
  };
}

export type {
  DeadReason,
  MessageOutcome,
  NewMessage,
  OnDead,
  OnMessage,
  Pushes,
  PushToken,
} from './pushes.ts';
