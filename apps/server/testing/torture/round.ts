import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { type Applied, apply } from './application.ts';
import { createBoard } from './board.ts';
import { CallLog } from './call-log.ts';
import { cancel } from './canceller.ts';
import { checkRound } from './check-round.ts';
import { Client } from './client.ts';
import { conduct } from './conductor.ts';
import { embeddedStage } from './embedded-stage.ts';
import { enqueue } from './enqueuer.ts';
import { gatherEvidence } from './evidence.ts';
import { failoverStage } from './failover-stage.ts';
import { FeedReader, type ReadFeed } from './feed-reader.ts';
import type { Finding } from './finding.ts';
import { postgresStage } from './postgres-stage.ts';
import { Random } from './random.ts';
import type { Stage } from './stage.ts';
import { finish, type Held, work } from './worker.ts';

/**
 * One round: a new installation, clients, disturbances; then quiet, all work is finished, and the checker compares the answers to the
 * clients, the feed and the tables.
 */
export interface RoundOptions {
  readonly seed: string;
  readonly disturbances: number;
  /** On average, between two disturbances. */
  readonly callsBetween: number;
  /** The folder for the calls and the logs of the servers. */
  readonly folder: string;
  readonly clients?: Partial<typeof CLIENTS>;
  /** How often every lane is asked at the end before remaining work counts as stuck. */
  readonly mostSweeps?: number;
  /** With the acts that take long. */
  readonly slow?: boolean;
}

/** `failover` is a PostgreSQL server with a standby that takes over. */
export type DatabaseName = keyof typeof STAGES;
const STAGES = { postgres: postgresStage, embedded: embeddedStage, failover: failoverStage };

export interface RoundResult {
  readonly disturbances: ReadonlyMap<string, number>;
  /** How often a server was killed. */
  readonly kills: number;
  /** How often the database, or sessions of it, were killed. */
  readonly crashes: number;
  readonly calls: number;
  readonly unknown: number;
  readonly actions: number;
  readonly events: number;
  readonly findings: readonly Finding[];
}

const TENANT = 1;
export const CLIENTS = { lanes: 6, enqueuers: 4, workers: 8, cancellers: 1, applications: 1 };
const MOST_SWEEPS = 120;

export async function runRound(
  options: RoundOptions & { readonly database: DatabaseName },
): Promise<RoundResult> {
  mkdirSync(options.folder, { recursive: true });
  const stage = await STAGES[options.database](options.folder);
  try {
    return await playRound(stage, options);
  } finally {
    await stage.close();
  }
}

export async function playRound(
  stage: Stage,
  options: RoundOptions,
  readFeed: ReadFeed = stage.readFeed,
): Promise<RoundResult> {
  const random = new Random(options.seed);
  const sizes = { ...CLIENTS, ...options.clients };
  const log = new CallLog(path.join(options.folder, 'calls.jsonl'));
  const board = createBoard(Array.from({ length: sizes.lanes }, (_, n) => `lane-${n + 1}`));
  const feed = new FeedReader(readFeed);
  const applied: Applied[] = [];
  const clients: Client[] = [];
  const found: Finding[] = [];
  const lanes = [...board.lanes];
  let chaos = true;

  function newClient(name: string, more: { token?: string; sockets?: number; patienceMs?: number } = {}) {
    const client = new Client({
      name,
      random: random.fork(name),
      doors: stage.doors,
      log,
      token: stage.token,
      ...more,
    });
    clients.push(client);
    return client;
  }

  function start(kind: string, count: number, step: (client: Client) => Promise<void>): Promise<void>[] {
    return Array.from({ length: count }, async (_, n) => {
      const name = `${kind}-${n + 1}`;
      const client = newClient(name);
      while (chaos) await step(client);
    });
  }

  const running = [
    ...start('enqueuer', sizes.enqueuers, (client) => enqueue(client, board)),
    ...Array.from({ length: sizes.workers }, () => [] as Held[]).flatMap((late, n) =>
      start(`worker-${n + 1}`, 1, (client) => work(client, board, late)),
    ),
    ...start('canceller', sizes.cancellers, async (client) => {
      await log.more(client.random.int(10, 40));
      await cancel(client, board);
    }),
    ...start('application', stage.applicationUrl === null ? 0 : sizes.applications, async ({ random }) => {
      await apply(stage.applicationUrl as string, board, random, log, applied);
      await log.more(random.int(1, 20));
    }),
  ];
  const company = stage.company?.({ random: random.fork('company'), isOver: () => !chaos });
  company?.catch(() => {}); // it is awaited later
  let disturbances: Map<string, number>;
  try {
    disturbances = await conduct({
      ...options,
      acts: { ...stage.acts, ...(options.slow ? stage.slowActs : {}) },
      random: random.fork('conductor'),
      log,
      tools: {
        client: newClient,
        newLane: () => lanes[lanes.push(`probe-${lanes.length + 1}`) - 1] as string,
        nextMark: board.nextMark,
        doors: stage.doors.length,
        found: (finding) => void found.push(finding),
      },
    });
  } finally {
    chaos = false;
  }
  // clients that wait for more calls get them from the workers that clear up
  const workers = clients.filter(({ name }) => name.startsWith('worker'));
  await Promise.all([...running, clearUp(workers, lanes, stage, options.mostSweeps ?? MOST_SWEEPS)]);
  found.push(...((await company) ?? []));
  await feed.finish();
  for (const client of clients) client.close();
  const faults = stage.nodes.flatMap((node) => node.faults);
  await Promise.all(stage.nodes.map((node) => node.stop()));
  await log.close();

  const db = await stage.open();
  try {
    const evidence = await gatherEvidence(db, TENANT, { calls: log.calls, applied, seen: feed.seen, faults });
    const { actions, events } = evidence.history;
    const findings = [...found, ...(await checkRound(db, evidence))];
    return {
      disturbances,
      kills: stage.nodes.reduce((sum, node) => sum + node.kills, 0),
      crashes: stage.crashes?.() ?? 0,
      calls: log.calls.length,
      unknown: log.calls.filter(({ status }) => status === null).length,
      actions: actions.size,
      events: events.length,
      findings,
    };
  } finally {
    await db.close();
  }
}

/** Finishes all work. Retries wait for seconds, so an empty lane is asked again. */
async function clearUp(
  workers: readonly Client[],
  lanes: readonly string[],
  stage: Stage,
  mostSweeps: number,
): Promise<void> {
  for (let sweep = 0; sweep < mostSweeps; sweep += 1) {
    await Promise.all(lanes.map((lane, n) => finish(workers[n % workers.length] as Client, lane)));
    if ((await unfinished(stage)) === 0) return;
  }
}

async function unfinished(stage: Stage): Promise<number> {
  const { port } = stage.doors[0] as Stage['doors'][number];
  const answer = await fetch(`http://127.0.0.1:${port}/api/counts`, {
    headers: { authorization: `Bearer ${stage.token}` },
  }).catch(() => null);
  if (!answer?.ok) return Number.NaN;
  const { counts } = (await answer.json()) as { counts: { state: string; count: number }[] };
  return counts
    .filter(({ state }) => state === 'pending' || state === 'claimed')
    .reduce((sum, { count }) => sum + count, 0);
}
