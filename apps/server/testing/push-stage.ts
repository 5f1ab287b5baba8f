import { createEngine, type Engine } from '@muster/engine';
import { type TestClock, testClock, testDatabase } from '@muster/engine/testing';
import { FakeApns } from '@muster/mdm/simulation';
import { Registry } from 'prom-client';
import { Alerts } from '../src/alerts/alerts.ts';
import { readConfig } from '../src/config.ts';
import { LINES } from '../src/database/migrations.ts';
import type { Shell } from '../src/feature.ts';
import { createPushPart, PUSH_DEVICES, type PushPart } from '../src/features/mdm/push/index.ts';
import { Problems } from '../src/problems/problems.ts';
import { createSecrets } from '../src/secrets/secrets.ts';

/** Nodes that push, a database, and an APNs whose answers a test sets; time passes only when the test says so. */
export const TOPIC = 'com.apple.mgmt.External.test';

export interface PushNode extends PushPart {
  readonly engine: Engine;
  readonly registry: Registry;
  /** Sends what is due now; returns how many pushes there were. */
  look(): Promise<number>;
}

export interface PushStage {
  readonly apns: FakeApns;
  readonly clock: TestClock;
  /** Raised alerts: name and text. */
  readonly alerts: string[];
  readonly log: string[];
  readonly db: Engine['db'];
  node(settings?: Record<string, string>): Promise<PushNode>;
  /** Time passes; what happens then is left to the test. */
  pass(ms: number): Promise<void>;
  /** A new device of the tenant; without a token. */
  device(tenantId?: number): Promise<string>;
  close(): Promise<void>;
}

export async function pushStage(): Promise<PushStage> {
  const database = await testDatabase({ lines: LINES });
  const apns = await FakeApns.start();
  const { certificate, key } = await apns.pushCertificate(TOPIC);
  const clock = testClock();
  const alerts: string[] = [];
  const log: string[] = [];
  const write = (kind: string) => (what: unknown, text: string) => {
    log.push(`${kind} ${text} ${JSON.stringify(what)}`);
    const { alert } = what as { alert?: string };
    if (alert) alerts.push(`${alert}: ${text}`);
  };
  const nodes: PushNode[] = [];
  let devices = 0;

  return {
    alerts,
    apns,
    clock,
    db: database.db,
    log,
    async node(settings = {}) {
      const engine = createEngine(database.db, { clock });
      const registry = new Registry();
      const logger = { warn: write('warn'), error: write('error'), info: () => {}, debug: () => {} } as never;
      const shell = {
        alerts: new Alerts({ engine, log: logger, registry }),
        config: readConfig({
          ...{ APNS_URL: apns.url, APNS_CA: apns.ca, APNS_CERT: certificate, APNS_KEY: key },
          ...settings,
        }),
        db: database.db,
        engine,
        log: logger,
        problems: new Problems(),
        registry,
        secrets: createSecrets([Buffer.alloc(32, 1)]),
      };
      const part = createPushPart(shell as unknown as Shell);
      await part.start();
      const node = { ...part, engine, registry, look: () => engine.runDuty(PUSH_DEVICES) };
      nodes.push(node);
      await engine.runDuty('keep-days'); // engines that are not started do nothing by themselves
      return node;
    },
    async pass(ms) {
      clock.advance(ms);
      await nodes[0]?.engine.runDuty('keep-days');
    },
    async device(tenantId = 1) {
      devices += 1;
      await database.db.query({
        text: `insert into muster.devices (tenant_id, device_id, lane_id, name, created_at) values ($1, $2, $2, $3, $4)`,
        values: [tenantId, devices, `phone ${devices}`, clock()],
      });
      return String(devices);
    },
    async close() {
      for (const node of nodes) await node.stop();
      await apns.close();
      await database.drop();
    },
  };
}
