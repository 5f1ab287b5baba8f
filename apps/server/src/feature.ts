import type { ErrorCatalogue } from '@muster/contracts/words';
import type { Database, Engine } from '@muster/engine';
import type { Registry } from 'prom-client';
import type { Alerts } from './alerts/alerts.ts';
import type { Audit } from './audit/audit.ts';
import type { Bus } from './bus/bus.ts';
import type { Callbacks } from './callbacks/callbacks.ts';
import type { Config } from './config.ts';
import type { Contacts } from './contacts/contacts.ts';
import type { Copying } from './copying/copying.ts';
import type { DoorEvents } from './events/door-events.ts';
import type { EventStream } from './events/event-stream.ts';
import type { StreamPlaces } from './events/stream-places.ts';
import type { Fleet } from './fleet/index.ts';
import type { Route } from './http/define-route.ts';
import type { Log } from './http/logging.ts';
import type { LongPolls } from './http/long-poll.ts';
import type { SignInFailures } from './http/sign-in-failures.ts';
import type { Upgrade } from './http/upgrades.ts';
import type { NotOffered } from './http/wrong-method.ts';
import type { InternalChannels } from './internal/internal-channels.ts';
import type { Moving } from './moving/moving.ts';
import type { Naming } from './naming/naming.ts';
import type { Outgoing } from './outgoing/outgoing.ts';
import type { Problems } from './problems/problems.ts';
import type { Redriving } from './redriving/redriving.ts';
import type { Repeats } from './repeats/repeats.ts';
import type { Searching } from './searching/searching.ts';
import type { Secrets } from './secrets/secrets.ts';
import type { SignIns } from './tokens/sign-ins.ts';
import type { Tokens } from './tokens/tokens.ts';

/** What the shell offers to a feature. */
export interface Shell {
  readonly config: Config;
  readonly db: Database;
  readonly engine: Engine;
  readonly tokens: Tokens;
  /** Browsers that are signed in. */
  readonly signIns: SignIns;
  readonly failures: SignInFailures;
  readonly audit: Audit;
  readonly alerts: Alerts;
  readonly bus: Bus;
  readonly callbacks: Callbacks;
  readonly contacts: Contacts;
  readonly copying: Copying;
  readonly fleet: Fleet;
  /** The doors' names for events of their actions. */
  readonly doorEvents: DoorEvents;
  readonly events: EventStream;
  /** Bounds the event streams open at this node. */
  readonly streamPlaces: StreamPlaces;
  readonly longPolls: LongPolls;
  readonly log: Log;
  readonly internalChannels: InternalChannels;
  readonly moving: Moving;
  /** Names of actions, targets and workers for people. */
  readonly naming: Naming;
  /** Requests to user-supplied addresses. */
  readonly outgoing: Outgoing;
  /** Problems that need a person. */
  readonly problems: Problems;
  readonly redriving: Redriving;
  readonly repeats: Repeats;
  readonly searching: Searching;
  /** Seals values that the database must not reveal. */
  readonly secrets: Secrets;
  /** The names of all features, once all are created. */
  readonly featureNames: () => readonly string[];
  /** Of the metrics. */
  readonly registry: Registry;
  /** The text of `registry`, of all processes of this server together. */
  readonly allMetrics: () => Promise<string>;
  /** The node was told to stop; it still takes requests, but a balancer should send them elsewhere. */
  readonly isDraining: () => boolean;
  /** Throws if a newer version has migrated the database. */
  readonly checkSchema: () => Promise<void>;
}

/** A folder under features/ exports one function that makes this; main.ts lists them. */
export interface Feature {
  readonly name: string;
  readonly routes: readonly Route[];
  readonly errors?: ErrorCatalogue;
  start?(): Promise<void>;
  stop?(): Promise<void>;
  /** Paths whose connections are upgraded from HTTP to another protocol. */
  readonly upgrades?: readonly Upgrade[];
  /** For an interface that is only partly offered: the error for the missing parts. */
  readonly notOffered?: NotOffered;
}

export interface CreateFeature {
  (shell: Shell): Feature;
  /** Spaces whose lanes are deleted when they are empty and unused for some days. Known before the engine exists. */
  readonly lanesOfNobody?: readonly string[];
}
