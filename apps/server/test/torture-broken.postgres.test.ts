import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { openPostgres } from '@muster/engine';
import { cut, type Sabotage, swap, testDatabase } from '@muster/engine/testing';
import { afterAll, expect, test } from 'vitest';
import { brokenStage } from '../testing/torture/broken-stage.ts';
import type { ReadFeed } from '../testing/torture/feed-reader.ts';
import { playRound } from '../testing/torture/round.ts';

/** The crash suite proves nothing unless it detects each broken variant, by the right promise. */
const folder = mkdtempSync(path.join(tmpdir(), 'muster-broken-'));
afterAll(() => rmSync(folder, { force: true, recursive: true }));

/** As one would write it first: everything after the last number that was read. */
function byEventNumber(_read: ReadFeed, url: string): ReadFeed {
  const db = openPostgres({ url, connections: 1 });
  return async (after = '0', limit) => {
    const { rows } = await db.query({
      text: `select event_id as "eventId", action_id as "actionId", type::text from muster.history
        where event_id > $1 order by event_id limit $2`,
      values: [after, limit],
    });
    return { events: rows, cursor: rows.at(-1)?.eventId ?? after, more: rows.length === limit };
  };
}

/** Deleted from the queue when it is handed out: if the answer is lost, so is the action. */
const POP_BEFORE_SEND: Sabotage = {
  muster_claim: (sql) =>
    [
      ['action_id = k.action_id, attempt = k.attempt + 1,', 'action_id = null, attempt = null,'],
      ['worker = k.worker, lease_runner', 'worker = null, lease_runner'],
      [
        '), e as (',
        '), popped as (delete from muster.pending p using k where p.tenant_id = k.tenant_id and p.action_id = k.action_id), e as (',
      ],
    ].reduce((text, [piece, by]) => swap(text, piece as string, by as string), sql),
};

const BROKEN: Record<
  string,
  { promise: string; by?: Sabotage; readFeed?: typeof byEventNumber; lanes?: number }
> = {
  'claims without looking at the version of the lane': {
    promise: 'G11',
    // and it takes its time between look and lock, so that a short run is enough
    by: { muster_claim: (sql) => swap(sql, 'and l.ver = x.ver', 'and (select pg_sleep(0.02)) is not null') },
    lanes: 2,
  },
  'deletes an action when it hands it out': { promise: 'G54', by: POP_BEFORE_SEND },
  'accepts a report of any attempt': {
    promise: 'G15',
    by: {
      muster_report: (sql) => cut(sql, 'and l.attempt = i.attempt'),
      muster_report_success: (sql) => cut(sql, 'and l.attempt = i.attempt'),
    },
  },
  'reads the feed by event number': { promise: 'G43', readFeed: byEventNumber },
};

/** A round is random: not every round hits the moment that the variant gets wrong. */
const MOST_ROUNDS = 8;

async function playOnce(broken: Omit<(typeof BROKEN)[string], 'promise'>, seed: string) {
  const { lanes = 4, ...variant } = broken;
  const database = await testDatabase({ migrated: false });
  const stage = await brokenStage(database.url as string, folder, variant);
  try {
    const round = await playRound(stage, {
      seed,
      disturbances: 6,
      callsBetween: 60,
      folder,
      clients: { lanes, workers: 10 },
      mostSweeps: 4,
    });
    return round.findings;
  } finally {
    await stage.close();
    await database.drop();
  }
}

test.each(Object.entries(BROKEN))(
  'an installation that %s is detected',
  { timeout: 900_000 },
  async (_what, { promise, ...broken }) => {
    let findings: Awaited<ReturnType<typeof playOnce>> = [];
    for (let round = 1; round <= MOST_ROUNDS; round += 1) {
      findings = await playOnce(broken, `broken ${round}`);
      if (findings.some((one) => one.promise === promise)) break;
    }
    expect(findings.map((one) => one.promise)).toContain(promise);
    const shown = findings.find((one) => one.promise === promise);
    expect(shown?.history?.length).toBeGreaterThan(0);
  },
);
