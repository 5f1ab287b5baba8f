import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import type { Board } from './board.ts';
import type { CallLog } from './call-log.ts';
import type { Random } from './random.ts';

/**
 * An application that shares the database: it queues actions in its own transactions, keeps them open for a while, and commits or
 * rolls back. Rolled-back ones must never show up, and the feed must not skip ones that commit late.
 */
export interface Applied {
  readonly mark: number;
  readonly lane: string;
  readonly id: string;
  readonly outcome: 'committed' | 'rolled back' | 'unknown';
  readonly begun: number;
  readonly ended: number;
}

export async function apply(
  url: string,
  board: Board,
  random: Random,
  log: CallLog,
  applied: Applied[],
): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
  client.on('error', () => {}); // the query that is under way tells it too
  const found: Omit<Applied, 'outcome' | 'ended'>[] = [];
  let outcome: Applied['outcome'] = 'rolled back';
  try {
    await client.connect();
    await client.query('begin');
    for (let n = random.int(1, 3); n > 0; n -= 1) {
      const [mark, lane, begun] = [board.nextMark(), random.pick(board.lanes), log.tick()];
      const { rows } = await client.query(
        `select muster.enqueue(1, muster.ensure_lane(1, 'generic', $1), 'applied', jsonb_build_object('mark', $2::int), '{"channel": "generic"}')::text as id`,
        [lane, mark],
      );
      found.push({ mark, lane, id: rows[0].id, begun });
    }
    await pause(random.int(0, 120));
    if (random.chance(0.4)) await client.query('rollback');
    else {
      outcome = 'unknown';
      await client.query('commit');
      outcome = 'committed';
    }
  } catch {
    // its outcome is what was known when the connection broke
  } finally {
    const ended = log.tick();
    for (const one of found) {
      applied.push({ ...one, outcome, ended });
      log.note({ applied: one, outcome, at: ended });
      if (outcome === 'committed') board.add(one.id, one.lane);
    }
    await client.end().catch(() => {});
  }
}
