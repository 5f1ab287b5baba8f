import type { Database, PoolLoad } from '@muster/engine';
import { Gauge, type Registry } from 'prom-client';

/** The connections of this node to the database, by pool, read at each scrape. */
export function observeDatabase(registry: Registry, db: Pick<Database, 'loads'>): void {
  const gauge = (name: string, help: string, labelNames: string[], read: (gauge: Gauge) => void) =>
    new Gauge({
      ...{ name, help, labelNames, registers: [registry] },
      collect() {
        read(this);
      },
    });
  const each = (read: (pool: string, load: PoolLoad) => void) => {
    for (const [pool, load] of Object.entries(db.loads())) read(pool, load);
  };

  gauge(
    'muster_database_connections',
    'Connections to the database, by pool and state.',
    ['pool', 'state'],
    (all) =>
      each((pool, { busy, idle }) => {
        all.set({ pool, state: 'busy' }, busy);
        all.set({ pool, state: 'idle' }, idle);
      }),
  );
  gauge('muster_database_connections_limit', 'The most connections of a pool.', ['pool'], (all) =>
    each((pool, { most }) => all.set({ pool }, most)),
  );
  gauge('muster_database_callers_waiting', 'Callers that wait for a connection, by pool.', ['pool'], (all) =>
    each((pool, { waiting }) => all.set({ pool }, waiting)),
  );
}
