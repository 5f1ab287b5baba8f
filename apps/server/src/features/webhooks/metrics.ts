import { type Engine, ofTenant, type Query } from '@muster/engine';
import { Counter, Gauge, type Registry } from 'prom-client';
import type { Log } from '../../http/logging.ts';
import { WEBHOOKS } from './channel.ts';

/** Metrics of deliveries, by tenant; never by webhook. */
export type Metrics = ReturnType<typeof createMetrics>;

/** failed: a try that is followed by another; given_up: the last one. */
export type TryOutcome = 'delivered' | 'failed' | 'given_up';

export function createMetrics({ engine, log, registry }: { engine: Engine; log: Log; registry: Registry }) {
  const registers = [registry];
  const { db, schema: s } = engine;
  const tries = new Counter({
    name: 'muster_webhook_deliveries_total',
    help: 'Webhook delivery tries, by outcome.',
    labelNames: ['tenant', 'outcome'] as const,
    registers,
  });

  /** On a distributed database tenant after tenant. */
  async function ask(query: Query) {
    if (!db.isDistributed) return (await db.query(query)).rows;
    const tenants = await db.query({ text: `select distinct tenant_id from ${s}.webhooks` });
    const all = [];
    for (const { tenant_id: tenantId } of tenants.rows)
      all.push(...(await ofTenant(db, tenantId).query(query)).rows);
    return all;
  }

  /** A gauge is read from the database at each scrape; if that fails, it is left out. */
  const gauge = (name: string, help: string, labelNames: string[], text: string, values: () => unknown[]) =>
    new Gauge({
      aggregator: 'max', // the same in every process
      ...{ name, help, labelNames, registers },
      async collect() {
        this.reset();
        try {
          const rows = await ask({ name: `muster_metrics_${name}`, text, values: values() });
          for (const { value, ...labels } of rows) this.set(labels, value);
        } catch (error) {
          log.warn({ err: error }, `${name} could not be read for /metrics.`);
        }
      },
    });
  gauge(
    'muster_webhooks_paused',
    'Paused webhooks, by cause: an operator, or failures.',
    ['tenant', 'by'],
    `select w.tenant_id::text as tenant, w.paused_by as by, count(*)::int as value from ${s}.webhooks w where w.paused_at is not null group by 1, 2`,
    () => [],
  );
  gauge(
    'muster_webhook_oldest_waiting_seconds',
    'Age of the oldest undelivered webhook delivery, by tenant.',
    ['tenant'],
    // the first action of each lane: what waits behind it is not read
    `select w.tenant_id::text as tenant, greatest(0, extract(epoch from $1::timestamptz - min(d.created_at)))::float8 as value
      from ${s}.webhooks w cross join lateral unnest(w.lane_ids) i(lane_id)
      cross join lateral ${s}.lane_front($1, w.tenant_id, i.lane_id, '${WEBHOOKS}') f
      cross join lateral (
        select d.created_at from ${s}.webhook_deliveries d
        where d.tenant_id = w.tenant_id and d.action_id = coalesce(f.leased_action, f.first_action) limit 1
      ) d group by 1`,
    () => [engine.now()],
  );

  return {
    tried: (tenantId: number, outcome: TryOutcome): void => tries.inc({ tenant: String(tenantId), outcome }),
  };
}
