import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { createEngine, openPostgres } from '@muster/engine';
import { FakeApns, testAuthority } from '@muster/mdm/simulation';
import { freePort } from '../../../../testing/free-port.mjs';
import { type Cluster, startCluster } from '../../../../testing/postgres-cluster.mjs';
import { TORTURE } from '../programs.ts';
import type { Stage } from '../torture/stage.ts';
import { balancerActs, type Stagehands, slowBalancerActs } from './acts.ts';
import { startHaproxy } from './haproxy.ts';
import { playAllDoors } from './load/all-doors.ts';
import { type BalancedNode, balancedNode } from './node.ts';
import { Witness } from './witness.ts';

/** Three nodes on one PostgreSQL server behind HAProxy, which is all that clients see, and load at every door. */
const NODES = 3;
const DRAIN_SECONDS = 4;

export interface BalancedStage extends Omit<Stage, 'nodes'>, Stagehands {
  readonly cluster: Cluster;
  /** What every process of the installation needs, whatever its version. */
  readonly env: Readonly<Record<string, string>>;
}

export async function balancerStage(
  folder: string,
  {
    drainSeconds = DRAIN_SECONDS,
    program = TORTURE,
  }: { readonly drainSeconds?: number; readonly program?: readonly string[] } = {},
): Promise<BalancedStage> {
  const [cluster, apns, issuer] = await Promise.all([
    startCluster({ settings: { max_connections: 200, shared_buffers: '64MB' } }),
    FakeApns.start(),
    testAuthority('Fleet'),
  ]);
  const push = await apns.pushCertificate();
  const caFile = path.join(folder, 'ca.pem');
  writeFileSync(caFile, issuer.pem);
  const token = randomBytes(24).toString('hex');
  const env = {
    ...{ HOME: folder, DATABASE_URL: cluster.url, MUSTER_OPERATOR_TOKEN: token },
    ...{ MUSTER_DRAIN_SECONDS: `${drainSeconds}`, MUSTER_ORDER_SECONDS: '1', MUSTER_MDM_CA: caFile },
    ...{ MUSTER_SECRETS_KEY: Buffer.alloc(32, 'key').toString('base64'), MUSTER_MDM_HOLD_SECONDS: '0' },
    ...{ APNS_URL: apns.url, APNS_CA: apns.ca, APNS_CERT: push.certificate, APNS_KEY: push.key },
    ...{ MUSTER_TRUSTED_PROXIES: '127.0.0.1', MUSTER_MDM_CERT_HEADER: 'x-client-cert' },
  };
  const nodes: BalancedNode[] = [];
  for (let n = 1; n <= NODES; n += 1) {
    const name = `node-${n}`;
    const own = { ...env, MUSTER_DATA_DIR: path.join(folder, `${name}-data`) };
    const node = balancedNode({ env: own, folder, name, port: await freePort(), program });
    await node.start(); // one after the other: the first one makes the tables
    nodes.push(node);
  }
  const balancer = await startHaproxy(
    nodes.map(({ port }) => port),
    folder,
  );
  const witness = new Witness();
  const hands: Stagehands = { nodes, balancer, witness, drainSeconds };
  const reading = openPostgres({ url: cluster.url, connections: 2 });
  const { feed } = createEngine(reading);
  return {
    ...hands,
    ...{ cluster, env, nodes, token },
    doors: [balancer],
    acts: balancerActs(hands),
    slowActs: slowBalancerActs(hands),
    async company(playing) {
      const found = await playAllDoors({ ...playing, issuer, token, url: balancer.url, witness });
      return [...found, ...witness.faults];
    },
    readFeed: (cursor, limit) => feed.read(reading, { tenantId: 1, cursor, limit }),
    applicationUrl: cluster.url,
    open: async () => openPostgres({ url: cluster.url, connections: 2 }),
    async close() {
      await Promise.all(nodes.map((node) => node.kill()));
      await Promise.all([balancer.stop(), reading.close(), apns.close()]);
      await cluster.stop();
    },
  };
}
