import { api } from '@muster/contracts';
import { Gauge, Registry } from 'prom-client';
import type { CreateFeature } from '../../feature.ts';
import { defineRoute } from '../../http/define-route.ts';

/**
 * For Prometheus. Counters are kept as things happen; depth, age and lag are read from the database at each scrape, so
 * an idle server reads nothing. If the database is away, the rest is answered all the same.
 */
export const metrics: CreateFeature = ({ allMetrics, config, engine, log, registry }) => {
  // from the database, so the same for all nodes and processes: they must not be added up
  const whole = new Registry();
  const registers = [registry];
  const depth = new Gauge({
    name: 'muster_depth',
    help: 'Actions in each state, by tenant and channel.',
    labelNames: ['tenant', 'channel', 'state'],
    registers: [whole],
  });
  const oldest = new Gauge({
    name: 'muster_oldest_age_seconds',
    help: 'Age of the oldest unfinished action, by tenant.',
    labelNames: ['tenant'],
    registers: [whole],
  });
  const lag = new Gauge({
    name: 'muster_feed_lag_seconds',
    help: 'Age of the oldest event the feed cannot show yet.',
    registers: [whole],
  });
  const database = new Gauge({
    name: 'muster_database_up',
    help: 'Whether the database answered this request.',
    registers: [whole],
  });
  new Gauge({
    name: 'muster_parked_waiters',
    help: 'Long polls waiting for work.',
    registers,
    collect() {
      this.set(engine.parkedWaiters);
    },
  });
  new Gauge({
    name: 'muster_leading',
    help: 'Whether this node does the housekeeping.',
    registers,
    collect() {
      this.set(engine.leading ? 1 : 0);
    },
  });

  async function ask(): Promise<void> {
    const [counts, oldestOf, feedLag] = await Promise.all([
      engine.counts(engine.db),
      engine.oldest(engine.db),
      engine.feed.lag(engine.db),
    ]);
    depth.reset();
    for (const { tenantId, channel, state, count } of counts)
      depth.labels(String(tenantId), channel, state).set(count);
    oldest.reset();
    for (const { tenantId, createdAt } of oldestOf)
      oldest
        .labels(String(tenantId))
        .set(Math.max(0, (engine.now().getTime() - createdAt.getTime()) / 1_000));
    lag.set(feedLag);
  }

  return {
    name: 'metrics',
    routes: [
      defineRoute(api.server.metrics, {
        access: {
          public: false,
          role: 'viewer',
          kinds: [],
          addresses: config.MUSTER_METRICS_ALLOW,
          wholeInstallation: true,
        },
        async handler({ reply }) {
          const up = await ask().then(
            () => 1,
            (error) => {
              log.warn({ err: error }, 'The database did not answer the request for /metrics.');
              return 0;
            },
          );
          database.set(up);
          return reply.type(registry.contentType).send(`${await allMetrics()}\n${await whole.metrics()}`);
        },
      }),
    ],
  };
};
