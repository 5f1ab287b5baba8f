import {
  type CountedEvents,
  type Duty,
  dutyRun,
  type Engine,
  EngineError,
  type EventType,
  type Queryable,
} from '@muster/engine';

/**
 * Counts the feed into minutes. The counted position is locked, so one of several nodes counts; it moves with the
 * counts, so a crash loses or repeats nothing. After a restore counting starts at the end: earlier events are already
 * counted.
 */
const EVERY_MS = 10_000;
const PAGE = 5_000;

const COUNTED: Readonly<Record<string, string>> = {
  CREATED: 'created',
  SENT: 'sent',
  SUCCEEDED: 'succeeded',
  FAILED_FINAL: 'failed',
  CANCELLED: 'cancelled',
  SUPERSEDED: 'cancelled',
  EXPIRED: 'expired',
};
const COLUMNS = ['created', 'sent', 'succeeded', 'failed', 'cancelled', 'expired'];

export function countMinutes(engine: Engine): Duty {
  const { feed, schema: s } = engine;

  async function countOn(client: Queryable, cursor: string | null): Promise<CountedEvents> {
    const end = async () => ({
      ...{ counts: [], passed: 0, upTo: null, more: false },
      cursor: await feed.cursor(client, 'end'),
    });
    if (cursor === null) return end();
    try {
      return await feed.count(client, { cursor, types: Object.keys(COUNTED) as EventType[], limit: PAGE });
    } catch (error) {
      if (error instanceof EngineError && error.code === 'MUSTER_OTHER_INCARNATION') return end();
      throw error;
    }
  }

  return {
    name: 'count-minutes',
    everyMs: EVERY_MS,
    // it reads the feed, which is of all tenants
    whose: null,
    async runOnce(client) {
      await client.query({ text: `insert into ${s}.minute_counted (one) values (1) on conflict do nothing` });
      const { rows } = await client.query({
        text: `select cursor from ${s}.minute_counted where one = 1 for update skip locked`,
      });
      if (!rows[0]) return dutyRun(0, 1); // another node is counting
      const now = engine.now();
      const page = await countOn(client, rows[0].cursor);
      await add(client, minutesOf(page));
      if (!page.more) await look(client, now);
      await client.query({
        text: `update ${s}.minute_counted set cursor = $1, counted_to = $2 where one = 1`,
        values: [page.cursor, page.more ? (page.upTo ?? now) : now],
      });
      return { ...dutyRun(page.passed, PAGE), more: page.more };
    },
  };

  function minutesOf({ counts }: CountedEvents): Map<string, Row> {
    const minutes = new Map<string, Row>();
    for (const { tenantId, minute, channel: own, type, count } of counts)
      for (const channel of own ? ['', own] : ['']) {
        const key = `${tenantId} ${minute.getTime()} ${channel}`;
        const row = minutes.get(key) ?? { tenantId, minute, channel, counts: new Map() };
        const column = COUNTED[type] as string;
        row.counts.set(column, (row.counts.get(column) ?? 0) + count);
        minutes.set(key, row);
      }
    return minutes;
  }

  async function add(client: Queryable, minutes: Map<string, Row>): Promise<void> {
    if (minutes.size === 0) return;
    const rows = [...minutes.values()];
    await client.query({
      name: 'muster_add_minutes',
      text: `insert into ${s}.minute_counts as m (tenant_id, minute, channel, ${COLUMNS.join(', ')})
        select * from unnest($1::int[], $2::timestamptz[], $3::text[], ${COLUMNS.map((_one, n) => `$${n + 4}::int[]`).join(', ')})
        on conflict (tenant_id, minute, channel) do update set ${COLUMNS.map((one) => `${one} = m.${one} + excluded.${one}`).join(', ')}`,
      values: [
        rows.map(({ tenantId }) => tenantId),
        rows.map(({ minute }) => minute),
        rows.map(({ channel }) => channel),
        ...COLUMNS.map((column) => rows.map(({ counts }) => counts.get(column) ?? 0)),
      ],
    });
  }

  /** What waits and runs at this moment, from maintained counts, and what has waited longest. */
  async function look(client: Queryable, now: Date): Promise<void> {
    const depths = new Map<string, { tenantId: number; channel: string; pending: number; running: number }>();
    for (const { tenantId, channel, state, count } of await engine.counts(client)) {
      if (state !== 'pending' && state !== 'claimed') continue;
      for (const of of [channel, '']) {
        const key = `${tenantId} ${of}`;
        const depth = depths.get(key) ?? { tenantId, channel: of, pending: 0, running: 0 };
        if (state === 'pending') depth.pending += count;
        else depth.running += count;
        depths.set(key, depth);
      }
    }
    const oldest = new Map((await engine.oldest(client)).map((one) => [one.tenantId, one.createdAt]));
    const rows = [...depths.values()];
    if (rows.length === 0) return;
    await client.query({
      name: 'muster_look_at_minute',
      text: `insert into ${s}.minute_counts as m (tenant_id, minute, channel, pending, running, oldest_at)
        select x.tenant_id, date_trunc('minute', $1::timestamptz), x.channel, x.pending, x.running, x.oldest_at
        from unnest($2::int[], $3::text[], $4::bigint[], $5::bigint[], $6::timestamptz[]) x(tenant_id, channel, pending, running, oldest_at)
        on conflict (tenant_id, minute, channel) do update
        set pending = excluded.pending, running = excluded.running, oldest_at = excluded.oldest_at`,
      values: [
        now,
        rows.map(({ tenantId }) => tenantId),
        rows.map(({ channel }) => channel),
        rows.map(({ pending }) => pending),
        rows.map(({ running }) => running),
        rows.map(({ tenantId, channel }) => (channel === '' ? (oldest.get(tenantId) ?? null) : null)),
      ],
    });
  }
}

interface Row {
  readonly tenantId: number;
  readonly minute: Date;
  readonly channel: string;
  readonly counts: Map<string, number>;
}
