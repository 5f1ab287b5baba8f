import { HOST_ERRORS } from '@muster/contracts/words';
import type { CreateFeature } from '../../feature.ts';
import { createHandOut } from '../../http/hand-out.ts';
import { namesById, namesOfWorkers } from '../../naming/names-by-id.ts';
import { findNamed } from '../../searching/searching.ts';
import { actionRoutes } from './action-routes.ts';
import { agentRoutes } from './agent-routes.ts';
import { copyHostAction } from './copy.ts';
import { HandedToHosts } from './handed.ts';
import { createHandingOut } from './handing-out.ts';
import { createHeartbeats } from './heartbeats.ts';
import { createHostActions } from './host-actions.ts';
import { hostRoutes } from './host-routes.ts';
import { createHosts } from './hosts.ts';
import { createLoadQueries } from './load-queries.ts';
import { loadRoutes } from './load-routes.ts';
import { createMetrics } from './metrics.ts';
import { createPressure } from './pressure.ts';
import { createQueries } from './queries.ts';
import { createReasons } from './reasons.ts';
import { createRedriveRule } from './redrive-rule.ts';
import { createReports } from './reports.ts';
import { createServiceCache } from './service-cache.ts';
import { serviceRoutes } from './service-routes.ts';
import { createServices } from './services.ts';
import { CHANNEL, holderOf, SPACE } from './wire.ts';

/**
 * Other nodes learn of a contact at most this much later. Ten thousand agents come every 25 seconds: 400 rows in one
 * statement.
 */
const CONTACT_EVERY_MS = 5_000;

/**
 * The hosts door: agents on hosts start, stop and restart services. It knows hosts, services and the words of agents;
 * only the engine knows what is queued, running or finished.
 */
export const hosts: CreateFeature = ({
  audit,
  config,
  contacts: shellContacts,
  copying,
  db,
  engine,
  log,
  longPolls,
  naming,
  redriving,
  registry,
  tokens,
  searching,
}) => {
  searching.add(findNamed(engine.schema, { type: 'host', table: 'hosts', id: 'host_id' }));
  const leaseMs = config.MUSTER_CONTROL_LEASE_SECONDS * 1_000;
  const mostMs = config.MUSTER_CONTROL_MAX_LEASE_SECONDS * 1_000;
  const contacts = shellContacts.of(CHANNEL, CONTACT_EVERY_MS);
  const queries = createQueries(engine.schema, contacts);
  const cache = createServiceCache(db, queries, engine.schema);
  const handed = new HandedToHosts(engine);
  const handOut = createHandOut({ engine, log, longPolls }, CHANNEL);
  const metrics = createMetrics(registry);
  const services = createServices({ audit, cache, engine, queries });
  const hosts = createHosts({ audit, contacts, engine, queries, services, tokens });
  engine.giveReasons(CHANNEL, createReasons(queries, contacts));
  naming.targetsOf(SPACE, queries.namesOfServices);
  naming.workersOf(
    CHANNEL,
    namesOfWorkers(holderOf, namesById(engine.schema, { table: 'hosts', id: 'host_id' })),
  );
  redriving.add(createRedriveRule(queries));
  copying.of(CHANNEL, copyHostAction(copying));

  let listening: { stop(): Promise<void> } | undefined;
  return {
    name: 'hosts',
    errors: HOST_ERRORS,
    routes: [
      ...hostRoutes({ contacts, hosts }),
      ...serviceRoutes({ services }),
      ...actionRoutes({ hosts, hostActions: createHostActions({ audit, engine, log, services }) }),
      ...loadRoutes({
        contacts,
        db,
        hosts,
        loadQueries: createLoadQueries(engine.schema),
        now: engine.now,
        stuckSeconds: config.MUSTER_CONTROL_LEASE_SECONDS,
      }),
      ...agentRoutes({
        contacts,
        engine,
        handingOut: createHandingOut({ cache, engine, handed, handOut, leaseMs, metrics }),
        heartbeats: createHeartbeats({ engine, handed, leaseMs, longPolls, mostMs }),
        pressure: createPressure(longPolls, config.MUSTER_MAX_WAITING),
        reports: createReports({ engine, handed, metrics }),
      }),
    ],
    async start() {
      listening = await cache.start();
    },
    stop: async () => listening?.stop(),
  };
};
