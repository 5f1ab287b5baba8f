import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { ENGINE_ERRORS, type ErrorCatalogue, HTTP_ERRORS, SECRETS_ERRORS } from '@muster/contracts/words';
import { createEngine, type Database, type Engine } from '@muster/engine';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { Alerts } from './alerts/alerts.ts';
import { createAudit } from './audit/audit.ts';
import { pruneAudit } from './audit/prune-audit.ts';
import { BackgroundErrors } from './background/background-errors.ts';
import { Bus } from './bus/bus.ts';
import { BUS } from './bus/subscription.ts';
import { Callbacks } from './callbacks/callbacks.ts';
import { CALLBACKS } from './callbacks/message.ts';
import { listenForCommands } from './command-socket/server.ts';
import { socketPath } from './command-socket/socket-path.ts';
import { type Config, SettingError } from './config.ts';
import { Contacts } from './contacts/contacts.ts';
import { createCopying } from './copying/copying.ts';
import { migrations, schemaTooOld } from './database/migrations.ts';
import { type OpenDatabase, openDatabase } from './database/open-database.ts';
import { joinCatalogues } from './errors.ts';
import { DoorEvents } from './events/door-events.ts';
import { EventStream } from './events/event-stream.ts';
import { StreamPlaces } from './events/stream-places.ts';
import type { CreateFeature, Feature, Shell } from './feature.ts';
import { actions } from './features/actions/index.ts';
import { auditRoutes } from './features/audit/index.ts';
import { batches } from './features/batches/index.ts';
import { callbacks as callbackRoutes } from './features/callbacks/index.ts';
import { checkin } from './features/checkin/index.ts';
import { events } from './features/events/index.ts';
import { health } from './features/health/index.ts';
import { hosts } from './features/hosts/index.ts';
import { limits } from './features/limits/index.ts';
import { live } from './features/live/index.ts';
import { mdm } from './features/mdm/index.ts';
import { metrics } from './features/metrics/index.ts';
import { orders } from './features/orders/index.ts';
import { overview } from './features/overview/index.ts';
import { pipeline } from './features/pipeline/index.ts';
import { session } from './features/session/index.ts';
import { tasks } from './features/tasks/index.ts';
import { tenants } from './features/tenants/index.ts';
import { tokenRoutes } from './features/tokens/index.ts';
import { webhooks } from './features/webhooks/index.ts';
import { workflows } from './features/workflows/index.ts';
import { createFleet } from './fleet/index.ts';
import { type App, createApp } from './http/app.ts';
import { describe } from './http/describe.ts';
import { createLog, type LogStream } from './http/logging.ts';
import { LongPolls } from './http/long-poll.ts';
import { checkPort } from './http/port.ts';
import { SignInFailures } from './http/sign-in-failures.ts';
import { readTls, type Tls } from './http/tls.ts';
import { VERSION } from './http/version.ts';
import { InternalChannels } from './internal/internal-channels.ts';
import { observeDatabase } from './metrics/database-metrics.ts';
import { observeEngine } from './metrics/engine-metrics.ts';
import { observeHttp } from './metrics/http-metrics.ts';
import { joinObservers } from './metrics/join-observers.ts';
import { createMoving } from './moving/moving.ts';
import { Naming } from './naming/naming.ts';
import { AllowRule, type Resolve } from './outgoing/allow-rule.ts';
import { lookUp } from './outgoing/look-up.ts';
import { Outgoing } from './outgoing/outgoing.ts';
import { Pages } from './pages/pages.ts';
import { Problems } from './problems/problems.ts';
import type { Member } from './processes/member.ts';
import { createRedriving } from './redriving/redriving.ts';
import { createRepeats } from './repeats/repeats.ts';
import { Searching } from './searching/searching.ts';
import { openSecrets } from './secrets/open-secrets.ts';
import { createTenantQueries } from './tenants/queries.ts';
import { ensureOperatorToken, type OperatorToken } from './tokens/operator-token.ts';
import { createSignIns } from './tokens/sign-ins.ts';
import { createTokens } from './tokens/tokens.ts';
import { openTracing } from './tracing/open-tracing.ts';

/**
 * The composition root: settings → database → engine → features → HTTP. Only the command line and tests use it. A new
 * feature is a folder under features/ and one line in FEATURES.
 */
const FEATURES: readonly CreateFeature[] = [
  actions,
  tokenRoutes,
  tenants,
  auditRoutes,
  callbackRoutes,
  checkin,
  batches,
  workflows,
  hosts,
  tasks,
  orders,
  pipeline,
  events,
  webhooks,
  mdm,
  session,
  live,
  overview,
  limits,
  health,
  metrics,
];

/** How long a start waits for a command that has the data folder. */
const PATIENCE_MS = 10_000;

/** Calls of one kind that may wait for the database. */
const MOST_CALLS = 20_000;
/** Enough for the largest body of any route, whatever the setting. */
const LEAST_BODY_BYTES = 32 * 1_048_576;

export interface ServerOptions {
  /** For tests: a database that the test opened and migrated, and will close. */
  readonly db?: Database;
  /** For tests: the clock to use. */
  readonly clock?: () => Date;
  readonly logStream?: LogStream;
  /** One of several processes that share the port. */
  readonly member?: Member | undefined;
  /** Called with each step of the start. */
  readonly onStep?: (what: string) => void;
  /** For tests: how long refused bodies are read. */
  readonly refusedBodyMs?: number;
  /** For tests: how long a body may take to arrive. */
  readonly bodyMs?: number;
  /** For tests: additional features. */
  readonly features?: readonly CreateFeature[];
  /** For tests: other pages than the built ones. */
  readonly pagesFolder?: string;
  /** For tests: resolves host names for outgoing requests. */
  readonly resolve?: Resolve;
}

export interface Server {
  readonly engine: Engine;
  readonly contacts: Contacts;
  readonly callbacks: Callbacks;
  /** Every code that an answer may have, for docs/errors.md. */
  readonly errors: ErrorCatalogue;
  /** Every route, for the test that checks them all. */
  readonly routes: App['registered'];
  readonly operatorToken: OperatorToken;
  readonly url: string;
  /** Drains, answers parked requests, finishes what was begun, closes the database. */
  stop(): Promise<void>;
}

/**
 * For a fleet that reconnects all at once: connections beyond the backlog are dropped by the system and retried one to
 * three seconds later.
 */
const BACKLOG = 4_096;

export async function startServer(config: Config, options: ServerOptions = {}): Promise<Server> {
  const log = createLog(
    config.MUSTER_LOG_LEVEL,
    options.logStream ?? process.stderr,
    config.MUSTER_LOG_FORMAT,
  );
  const background = new BackgroundErrors({ log });
  const onError = background.happened;
  const undo: (() => Promise<void>)[] = [];
  const step = options.onStep ?? (() => {});
  try {
    const tls = readTls(config);
    step(`checking that port ${config.PORT} is free`);
    if (!options.member) await checkPort(config.HOST, config.PORT);
    step(
      config.DATABASE_URL === null
        ? `opening the embedded database in ${config.MUSTER_DATA_DIR}`
        : 'connecting to the database',
    );
    const opened: OpenDatabase = options.db
      ? { db: options.db, close: async () => {} }
      : await openDatabase(config, onError, PATIENCE_MS);
    undo.push(() => opened.close());
    return await startOn(opened, undo, tls);
  } catch (error) {
    for (const step of undo.reverse()) await step().catch(onError);
    background.end();
    throw error;
  }

  async function startOn(
    { db }: OpenDatabase,
    undo: (() => Promise<void>)[],
    tls: Tls | null,
  ): Promise<Server> {
    const schema = config.MUSTER_SCHEMA;
    const migrate = migrations(db, schema);
    step('checking the version of the database');
    await migrate.checkFits();
    const missing = await migrate.missing();
    if (missing.length > 0) {
      if (config.MUSTER_AUTO_MIGRATE === 'no') throw schemaTooOld(missing);
      step('migrating the database');
      await migrate.up();
    }
    step('loading the secrets key');
    const mayMakeKey = db.kind === 'embedded' && !options.db;
    const secrets = await openSecrets(config, db, { schema, mayMakeKey });
    step('loading the operator token');

    const registry = new Registry();
    collectDefaultMetrics({ register: registry });
    observeDatabase(registry, db);
    const mostBytes = config.MUSTER_MAX_QUEUED_MB * 1_048_576;
    const tracing = await openTracing(config, log);
    if (tracing) undo.push(() => tracing.close());
    const bare = createEngine(db, {
      schema,
      tenants: `select tenant_id from ${schema}.tenants`,
      retentionDays: config.MUSTER_RETENTION_DAYS,
      depthLimit: config.MUSTER_LANE_DEPTH_LIMIT,
      room: { calls: MOST_CALLS, bytes: mostBytes },
      forgetLanes: {
        of: FEATURES.flatMap(({ lanesOfNobody = [] }) => lanesOfNobody),
        afterMs: config.MUSTER_FORGET_LANES_DAYS * 86_400_000,
      },
      maxWaiting: config.MUSTER_MAX_WAITING,
      onError,
      onAlive: () => background.answered(db.host()),
      observer: joinObservers(observeEngine(registry), tracing?.observer),
      ...(options.clock ? { clock: options.clock } : {}),
    });
    const engine = tracing?.engine(bare) ?? bare;
    const tokens = createTokens(db, schema);
    const audit = createAudit(db, schema);
    engine.addDuty(pruneAudit(audit, config.MUSTER_AUDIT_DAYS));
    await createTenantQueries(schema).ensureDefault(db);
    const operatorToken = await ensureOperatorToken(config, db, tokens);

    const signIns = createSignIns({
      db,
      days: config.MUSTER_SIGN_IN_DAYS,
      now: engine.now,
      schema,
      tokens,
    });
    engine.addDuty(signIns.pruning);
    const { clock } = options;
    const failures = new SignInFailures(
      config.MUSTER_FAILED_SIGN_INS_PER_MINUTE,
      clock ? () => clock().getTime() : () => performance.now(),
    );
    const longPolls = new LongPolls(tokens, signIns);
    const contacts = new Contacts({
      db,
      log,
      now: engine.now,
      onlineSeconds: config.MUSTER_ONLINE_WINDOW_SECONDS,
      schema,
    });
    const redriving = createRedriving(engine);
    const repeats = createRepeats(schema, engine.now);
    engine.addDuty(repeats.pruning(config.MUSTER_RETENTION_DAYS));
    const problems = new Problems();
    const searching = new Searching();
    const naming = new Naming();
    const fleet = createFleet({
      ...{ audit, config, contacts, db, engine, log, naming, problems, redriving, searching, tokens },
    });
    const alerts = new Alerts({ engine, log, registry });
    const bus = new Bus({ alerts, engine, log });
    const outgoing = new Outgoing(new AllowRule(config.MUSTER_OUTGOING_ALLOW, options.resolve ?? lookUp));
    const callbacks = new Callbacks({ config, engine, log, outgoing, secrets });
    const internalChannels = new InternalChannels();
    let isDraining = false;
    for (const channel of [BUS, CALLBACKS]) internalChannels.add(channel);
    const shell: Shell = {
      config,
      db,
      engine,
      tokens,
      signIns,
      failures,
      audit,
      alerts,
      bus,
      callbacks,
      contacts,
      copying: createCopying(engine),
      fleet,
      doorEvents: new DoorEvents(),
      events: new EventStream({ engine, log }),
      streamPlaces: new StreamPlaces(config.MUSTER_MAX_STREAMS),
      longPolls,
      log,
      internalChannels,
      moving: createMoving(engine),
      naming,
      outgoing,
      problems,
      redriving,
      repeats,
      searching,
      secrets,
      registry,
      allMetrics: options.member?.metricsOf(registry) ?? (() => registry.metrics()),
      isDraining: () => isDraining,
      featureNames: () => features.map(({ name }) => name),
      checkSchema: () => migrate.checkFits(db.reserved),
    };
    const features: Feature[] = [
      fleet,
      ...[...FEATURES, ...(options.features ?? [])].map((create) => create(shell)),
    ];
    const errors = joinCatalogues([
      HTTP_ERRORS,
      ENGINE_ERRORS,
      SECRETS_ERRORS,
      ...features.map((feature) => feature.errors ?? {}),
    ]);
    const routes = describe(
      features.flatMap((feature) => feature.routes),
      VERSION,
    );
    const pages = new Pages(options.pagesFolder);
    pages.leaveOut(routes.map(({ path }) => path));
    const app = createApp({
      pages,
      log,
      mostBodyBytes: Math.max(2 * mostBytes, LEAST_BODY_BYTES),
      tokens,
      signIns,
      failures,
      trustedProxies: config.MUSTER_TRUSTED_PROXIES,
      refusedBodyMs: options.refusedBodyMs,
      bodyMs: options.bodyMs,
      isDraining: () => isDraining,
      onAnswer: observeHttp(registry),
      routes,
      tls,
      notOffered: features.flatMap((feature) => feature.notOffered ?? []),
      upgrades: features.flatMap((feature) => feature.upgrades ?? []),
    });

    tracing?.addTo(app.fastify);

    step('starting the engine');
    const { restored } = await engine.start();
    tracing?.begin(await engine.incarnation(db));
    if (restored) log.warn('The database was restored: earlier cursors of the event feed are now refused.');
    undo.push(() => engine.stop());
    const listening = await tokens.start();
    undo.push(() => listening.stop());
    const signingOut = await signIns.start();
    undo.push(() => signingOut.stop());
    undo.push(() => contacts.write());
    await bus.start();
    undo.push(() => bus.stop());
    for (const feature of features) {
      await feature.start?.();
      undo.push(async () => feature.stop?.());
    }
    if (db.kind === 'embedded' && !options.db) {
      const commands = await listenForCommands(socketPath(config.MUSTER_DATA_DIR), { config, db }, log);
      undo.push(() => commands.stop());
    }
    step('starting to listen');
    await app.fastify.listen({ backlog: BACKLOG, host: config.HOST, port: config.PORT }).catch((error) => {
      // a database that cannot be found has the same code
      throw error.syscall === 'getaddrinfo'
        ? new SettingError('HOST', `does not resolve (${error.code}).`)
        : error;
    });
    const url = addressOf(tls ? 'https' : 'http', config.HOST, app.fastify.server.address() as AddressInfo);
    log.info({ url, database: db.kind, version: VERSION }, 'Listening.');
    // Undone in reverse order: no new requests, parked ones answered, then everything below.
    undo.push(async () => {
      longPolls.stop();
      await app.close();
    });

    await callbacks.start(url);
    undo.push(() => callbacks.stop());

    let stopped: Promise<void> | undefined;
    return {
      callbacks,
      contacts,
      engine,
      errors,
      operatorToken,
      routes: app.registered,
      url,
      stop: () => {
        stopped ??= (async () => {
          isDraining = true;
          if (config.MUSTER_DRAIN_SECONDS > 0) {
            log.info({ seconds: config.MUSTER_DRAIN_SECONDS }, 'Draining.');
            await pause(config.MUSTER_DRAIN_SECONDS * 1_000);
          }
          for (const step of undo.reverse()) await step().catch(onError);
          background.end();
          log.info('Stopped.');
        })();
        return stopped;
      },
    };
  }
}

function addressOf(scheme: string, host: string, { address, family, port }: AddressInfo): string {
  const shown =
    host === '0.0.0.0' || host === '::' ? '127.0.0.1' : family === 'IPv6' ? `[${address}]` : address;
  return `${scheme}://${shown}:${port}`;
}
