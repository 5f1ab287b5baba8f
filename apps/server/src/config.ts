import { BlockList, isIP, isIPv6 } from 'node:net';
import path from 'node:path';
import { DatabaseUrlError, readDatabaseUrl } from './database/database-url.ts';

/**
 * The only reader of the environment. SETTINGS describes every setting once; a test compares docs/operations.md with
 * it. An invalid value is refused with one sentence that names the variable.
 */
interface Setting<T> {
  /** As written in the environment; null: not set. */
  readonly default: string | null;
  readonly meaning: string;
  /** Throws the rest of a sentence that begins with the variable's name. */
  read(text: string): T;
}

export class SettingError extends Error {
  readonly setting: string;
  constructor(setting: string, complaint: string) {
    super(`${setting} ${complaint}`);
    this.name = 'SettingError';
    this.setting = setting;
  }
}

class Complaint extends Error {}

const text = (value: string) => value;

function wholeNumber(from: number, to: number) {
  return (value: string): number => {
    const number = Number(value);
    if (!/^\d+$/.test(value) || number < from || number > to)
      throw new Complaint(`must be a whole number from ${from} to ${to}, not "${value}".`);
    return number;
  };
}

/** `auto` is null. */
function processes(text: string): number | null {
  return text === 'auto' ? null : wholeNumber(1, 256)(text);
}

function oneOf<T extends string>(...allowed: T[]) {
  return (value: string): T => {
    const found = allowed.find((one) => one === value);
    if (!found) throw new Complaint(`must be one of ${allowed.join(', ')}, not "${value}".`);
    return found;
  };
}

/** The value is not repeated: it holds a password. */
function databaseUrl(value: string): string {
  try {
    readDatabaseUrl(value);
    return value;
  } catch (error) {
    throw error instanceof DatabaseUrlError ? new Complaint(error.message) : error;
  }
}

function operatorToken(value: string): string {
  if (value.length < 32)
    throw new Complaint(
      `must have at least 32 characters; it has ${value.length}. Try: openssl rand -base64 32`,
    );
  if (!/^[\x21-\x7e]+$/.test(value) || value.length > 1_000)
    throw new Complaint(
      'must be at most 1000 visible ASCII characters without spaces: it is sent in a header.',
    );
  return value;
}

/** 32 bytes in base64 or hex. The value is not repeated: it is the secret. */
function secretsKey(value: string): Buffer {
  const key = Buffer.from(value, /^[0-9a-f]{64}$/i.test(value) ? 'hex' : 'base64');
  if (key.byteLength !== 32 || !/^[A-Za-z0-9+/_-]+=*$/.test(value))
    throw new Complaint('must be 32 random bytes in base64 or hex. Try: openssl rand -base64 32');
  return key;
}

function secretsKeys(value: string): Buffer[] {
  return value
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean)
    .map(secretsKey);
}

function httpsUrl(value: string): string {
  const url = URL.canParse(value) ? new URL(value) : null;
  if (url?.protocol !== 'https:' || url.pathname !== '/')
    throw new Complaint(`must be a URL like https://api.push.apple.com, not "${value}".`);
  return url.origin;
}

function webAddress(value: string): string {
  const url = URL.canParse(value) ? new URL(value) : null;
  if (!url || !['http:', 'https:'].includes(url.protocol) || url.search !== '' || url.hash !== '')
    throw new Complaint(`must be a URL like https://muster.example.com, not "${value}".`);
  return value.replace(/\/+$/, '');
}

/** The value is not repeated: it may hold a password. */
function collector(value: string): string {
  const url = URL.canParse(value) ? new URL(value) : null;
  const isPlain =
    url && ['http:', 'https:'].includes(url.protocol) && url.username === '' && url.password === '';
  if (!isPlain || url.search !== '' || url.hash !== '')
    throw new Complaint(
      'must be a URL like http://127.0.0.1:4318, without a password; secrets belong into OTEL_EXPORTER_OTLP_HEADERS.',
    );
  return value.replace(/\/+$/, '');
}

function schemaName(value: string): string {
  if (!/^[a-z_][a-z0-9_]{0,50}$/.test(value))
    throw new Complaint('must be lower-case letters, digits and underscores, and not begin with a digit.');
  return value;
}

function headerName(value: string): string {
  if (!/^[A-Za-z0-9-]{1,100}$/.test(value))
    throw new Complaint(`must be the name of a header, not "${value}".`);
  return value.toLowerCase();
}

/** The values are not repeated: they hold secrets. */
function headerList(value: string): Record<string, string> {
  const pairs = value.split(',').map((part) => /^\s*([A-Za-z0-9-]{1,100})\s*=\s*(\S*)\s*$/.exec(part));
  const wrong = new Complaint('must be a list like authorization=Bearer%20secret, separated by commas.');
  try {
    return Object.fromEntries(
      pairs.map((pair) => {
        if (!pair) throw wrong;
        return [(pair[1] as string).toLowerCase(), decodeURIComponent(pair[2] as string)];
      }),
    );
  } catch {
    throw wrong;
  }
}

function share(value: string): number {
  const number = Number(value);
  if (!/^\d*\.?\d+$/.test(value) || number > 1)
    throw new Complaint(`must be a number from 0 to 1, not "${value}".`);
  return number;
}

function addresses(value: string): BlockList {
  const list = new BlockList();
  for (const one of value
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean)) {
    const [address = '', bits] = one.split('/');
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    const most = family === 'ipv6' ? 128 : 32;
    if (isIP(address) === 0 || (bits !== undefined && !(/^\d{1,3}$/.test(bits) && Number(bits) <= most)))
      throw new Complaint(
        `must be a list of addresses or networks like 10.0.0.7, 192.168.0.0/16; "${one}" is neither.`,
      );
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return list;
}

const setting = <T, D extends string | null>(
  fallback: D,
  meaning: string,
  read: (value: string) => T,
): Setting<T> & { readonly default: D } => ({ default: fallback, meaning, read });

export const SETTINGS = {
  PORT: setting('4000', 'The port of the HTTP server; 0 picks a free one.', wholeNumber(0, 65_535)),
  HOST: setting('127.0.0.1', 'The address to listen on; 0.0.0.0 for all interfaces.', text),
  DATABASE_URL: setting(
    null,
    'The URL of a PostgreSQL 15+ server. It may name several hosts, like libpq: postgres://user:password@one:5432,two:5432/muster?target_session_attrs=read-write. Without it, the embedded database in the data folder is used.',
    databaseUrl,
  ),
  MUSTER_LISTEN_URL: setting(
    null,
    'Set it if DATABASE_URL leads to a pooler in transaction mode, such as PgBouncer: the URL of the server itself, for the one connection that listens.',
    databaseUrl,
  ),
  MUSTER_DATA_DIR: setting(
    './data',
    'The data folder: embedded database, operator token, control socket.',
    (value) => path.resolve(value),
  ),
  MUSTER_OPERATOR_TOKEN: setting(
    null,
    'An admin token of the default tenant, created at the start if it does not exist; at least 32 characters. Changing or removing it revokes the old one.',
    operatorToken,
  ),
  MUSTER_SECRETS_KEY: setting(
    null,
    'The key that seals secrets in the database: 32 random bytes in base64 or hex, the same on every node. With the embedded database, one is created in the data folder.',
    secretsKey,
  ),
  MUSTER_SECRETS_OLD_KEYS: setting(
    '',
    'Former values of MUSTER_SECRETS_KEY, separated by commas; secrets sealed with them stay readable.',
    secretsKeys,
  ),
  MUSTER_SCHEMA: setting('muster', 'The schema of all tables.', schemaName),
  MUSTER_AUTO_MIGRATE: setting(
    'yes',
    'Whether to migrate the schema at start; with "no", run muster migrate up first, or it refuses to start.',
    oneOf('yes', 'no'),
  ),
  MUSTER_LEASE_SECONDS: setting(
    '60',
    'The lease of a claim in a generic lane that does not set its own.',
    wholeNumber(1, 86_400),
  ),
  MUSTER_LANE_DEPTH_LIMIT: setting(
    '1000',
    'The most unfinished actions per lane.',
    wholeNumber(1, 1_000_000),
  ),
  MUSTER_ORDER_SECONDS: setting(
    '10',
    'How long a bot processes an order before it is complete.',
    wholeNumber(1, 86_400),
  ),
  MUSTER_NORMAL_SHARE: setting(
    '0',
    'At least every nth claim by bots at a node takes the oldest normal order, even if VIP orders wait; 0: never.',
    wholeNumber(0, 1_000_000),
  ),
  MUSTER_ORDER_LIMIT: setting('100000', 'The most unfinished orders per tenant.', wholeNumber(1, 10_000_000)),
  MUSTER_SOFT_DELETE_DAYS: setting(
    '30',
    'For how many days a deleted order or bot can be restored.',
    wholeNumber(1, 3_650),
  ),
  MUSTER_DEADLINE_SECONDS: setting(
    '10',
    'How long a request may wait for the database before it is refused.',
    wholeNumber(1, 300),
  ),
  MUSTER_MAX_QUEUED_MB: setting(
    '64',
    'How many MB of calls of one kind (queueing, reporting) may wait for the database; request bodies may take up twice as much. Further calls are refused at once.',
    wholeNumber(1, 65_536),
  ),
  MUSTER_PROCESSES: setting(
    '1',
    'How many server processes share the port, each with its own database connections; auto is one per core, or 1 on the embedded database.',
    processes,
  ),
  MUSTER_DRAIN_SECONDS: setting(
    '0',
    'How long a node that was told to stop still takes requests, while /readyz already says that it is draining; behind a balancer, longer than its health check needs to notice.',
    wholeNumber(0, 300),
  ),
  MUSTER_MAX_STREAMS: setting(
    '1000',
    'The most event streams open at this node; further ones are refused with Retry-After.',
    wholeNumber(1, 100_000),
  ),
  MUSTER_MAX_WAITING: setting(
    '50000',
    'The most requests that may wait for work at this node, over all doors; further ones are refused with Retry-After.',
    wholeNumber(1, 1_000_000),
  ),
  MUSTER_RETENTION_DAYS: setting(
    '14',
    'Finished actions are deleted after this many days.',
    wholeNumber(1, 3_650),
  ),
  MUSTER_FORGET_LANES_DAYS: setting(
    '1',
    'An empty, unused generic lane is deleted after this many days; its next use creates it again.',
    wholeNumber(1, 3_650),
  ),
  MUSTER_AUDIT_DAYS: setting(
    '365',
    'Audit log entries are deleted after this many days.',
    wholeNumber(1, 36_500),
  ),
  MUSTER_SIGN_IN_DAYS: setting(
    '30',
    'A browser stays signed in for at most this many days, or until its token is revoked.',
    wholeNumber(1, 365),
  ),
  MUSTER_CONTROL_LEASE_SECONDS: setting(
    '300',
    'How long an agent may go without a heartbeat before its action is retried.',
    wholeNumber(1, 86_400),
  ),
  MUSTER_CONTROL_MAX_LEASE_SECONDS: setting(
    '3600',
    'How long heartbeats can keep an action of a host after it was handed out.',
    wholeNumber(1, 604_800),
  ),
  MUSTER_CHECKIN_LEASE_SECONDS: setting(
    '4500',
    'How long a device may take for an action from a check-in.',
    wholeNumber(1, 604_800),
  ),
  MUSTER_MILESTONE_DAYS: setting(
    '365',
    'Milestones of devices are deleted after this many days.',
    wholeNumber(1, 36_500),
  ),
  MUSTER_MAX_SLOTS_PER_PC: setting('20', 'The most slots a PC can have.', wholeNumber(1, 1_000)),
  MUSTER_TASK_TIMEOUT_SECONDS: setting(
    '1200',
    'How long a device of a task may take before it times out, unless the task sets its own time.',
    wholeNumber(1, 604_800),
  ),
  MUSTER_TASK_STALL_SECONDS: setting(
    '1200',
    'A task ends after this time without any contact from a runner that could continue it.',
    wholeNumber(10, 604_800),
  ),
  MUSTER_TASK_ABSENT_SECONDS: setting(
    '600',
    'How long tasks wait for a device that its runner reports as absent.',
    wholeNumber(0, 604_800),
  ),
  MUSTER_EXECUTION_TIMEOUT_SECONDS: setting(
    '60',
    'How long a device may take for an action of the command pipeline before the execution times out.',
    wholeNumber(3, 86_400),
  ),
  MUSTER_BULK_ROLE: setting(
    'admin',
    'The role required to assign an action to many devices at once.',
    oneOf('admin', 'operator'),
  ),
  MUSTER_ONLINE_WINDOW_SECONDS: setting(
    '900',
    'A client counts as online for this many seconds after its last contact.',
    wholeNumber(1, 31_536_000),
  ),
  APNS_URL: setting(
    'https://api.push.apple.com',
    'The APNs server; add :2197 if port 443 is blocked.',
    httpsUrl,
  ),
  APNS_CERT: setting(
    null,
    'The push certificate for device management, for tenants without their own: a PEM file, or its text.',
    text,
  ),
  APNS_KEY: setting(null, 'The key of APNS_CERT: a PEM file, or its text.', text),
  APNS_CA: setting(
    null,
    'The authorities to trust for APNs instead of the usual ones: a PEM file, or its text.',
    text,
  ),
  APNS_MESSAGE_TOPIC: setting(null, 'The bundle id of the companion app that shows messages.', text),
  APNS_MESSAGE_CERT: setting(
    null,
    'The push certificate of the companion app: a PEM file, or its text.',
    text,
  ),
  APNS_MESSAGE_KEY: setting(null, 'The key of APNS_MESSAGE_CERT: a PEM file, or its text.', text),
  MUSTER_METRICS_ALLOW: setting(
    '',
    'Addresses and networks, separated by commas, that may read /metrics without a token.',
    addresses,
  ),
  MUSTER_OUTGOING_ALLOW: setting(
    '',
    'Non-public addresses and networks, separated by commas, that callbacks and webhooks may be sent to.',
    addresses,
  ),
  MUSTER_FAILED_SIGN_INS_PER_MINUTE: setting(
    '300',
    'How many unknown tokens one address (for IPv6, one /64) may send per minute; further ones get 429.',
    wholeNumber(1, 1_000_000),
  ),
  MUSTER_TRUSTED_PROXIES: setting(
    '',
    'Addresses and networks, separated by commas, of proxies whose X-Forwarded-For names the client.',
    addresses,
  ),
  MUSTER_PUBLIC_URL: setting(
    null,
    'The URL by which phones and QStash reach this server. It is in the profiles of phones and must not change. By default, the address from which a profile is downloaded.',
    webAddress,
  ),
  MUSTER_TLS_CERT: setting(
    null,
    'A PEM file with the certificate of this server and those of its issuers; turns TLS on.',
    text,
  ),
  MUSTER_TLS_KEY: setting(null, 'A PEM file with the key of that certificate.', text),
  MUSTER_MDM_CA: setting(
    null,
    'A PEM file with further authorities to trust for phones, besides that of Muster.',
    text,
  ),
  MUSTER_MDM_CERT_HEADER: setting(
    null,
    'The header in which a trusted proxy passes the certificate of a phone: RFC 9440, or escaped PEM as from nginx.',
    headerName,
  ),
  MUSTER_MDM_HOLD_SECONDS: setting(
    '2',
    'How long the request of a phone is held open while a command is on its way to it.',
    wholeNumber(0, 25),
  ),
  MUSTER_MDM_LEASE_SECONDS: setting(
    '300',
    'How long a phone may take for a command written by an operator.',
    wholeNumber(5, 86_400),
  ),
  MUSTER_SCEP_URL: setting(
    null,
    'The SCEP server that issues certificates to phones instead of Muster; needs MUSTER_MDM_CA.',
    webAddress,
  ),
  MUSTER_SCEP_CHALLENGE: setting(null, 'The challenge of the SCEP server, put into every profile.', text),
  QSTASH_URL: setting(
    null,
    'A QStash account that sends the calls of this server to itself, such as the end of an order. Needs the three settings below and MUSTER_PUBLIC_URL.',
    webAddress,
  ),
  QSTASH_TOKEN: setting(null, 'The token of that QStash account.', text),
  QSTASH_CURRENT_SIGNING_KEY: setting(null, 'The current signing key of that account.', text),
  QSTASH_NEXT_SIGNING_KEY: setting(null, 'The next signing key of that account.', text),
  OTEL_EXPORTER_OTLP_ENDPOINT: setting(
    null,
    'A collector of OpenTelemetry, such as http://127.0.0.1:4318; turns traces on. Agents and runners read it too.',
    collector,
  ),
  OTEL_EXPORTER_OTLP_HEADERS: setting(
    null,
    'Headers for the collector: name=value, separated by commas, values percent-encoded.',
    headerList,
  ),
  OTEL_TRACES_SAMPLER_ARG: setting('1', 'The share of all actions that are traced, from 0 to 1.', share),
  MUSTER_LOG_LEVEL: setting(
    'auto',
    'The lowest level to log: auto is info for JSON and warn for text; debug has a line per request.',
    oneOf('auto', 'fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
  ),
  MUSTER_LOG_FORMAT: setting(
    'auto',
    'The form of log lines, json or text; auto is text on a terminal and json otherwise.',
    oneOf('auto', 'json', 'text'),
  ),
};

type Settings = typeof SETTINGS;
type ValueOf<S> = S extends Setting<infer T> & { readonly default: infer D }
  ? null extends D
    ? T | null
    : T
  : never;
export type SettingName = keyof Settings;
export type Config = { readonly [Name in SettingName]: ValueOf<Settings[Name]> };

/** All settings, or a SettingError for the first invalid one. An empty variable counts as not set. */
export function readConfig(environment: Record<string, string | undefined> = process.env): Config {
  const entries = (Object.keys(SETTINGS) as SettingName[]).map((name) => [
    name,
    readSetting(name, environment),
  ]);
  return Object.fromEntries(entries) as Config;
}

/** Before it is known whether all settings are valid. */
export function logFormat(
  environment: Record<string, string | undefined> = process.env,
): Config['MUSTER_LOG_FORMAT'] {
  try {
    return SETTINGS.MUSTER_LOG_FORMAT.read(environment.MUSTER_LOG_FORMAT || 'auto');
  } catch {
    return 'auto';
  }
}

/** Some of them, whatever the others are. */
export function readSettings<Name extends SettingName>(
  names: readonly Name[],
  environment: Record<string, string | undefined> = process.env,
): Pick<Config, Name> {
  return Object.fromEntries(names.map((name) => [name, readSetting(name, environment)])) as Pick<
    Config,
    Name
  >;
}

/** A sentence for each invalid setting. */
export function complaints(environment: Record<string, string | undefined> = process.env): string[] {
  return (Object.keys(SETTINGS) as SettingName[]).flatMap((name) => {
    try {
      readSetting(name, environment);
      return [];
    } catch (error) {
      return [(error as Error).message];
    }
  });
}

/** The environment for a child process of another program: without our settings, some of which are secret. */
export function inheritedEnvironment(
  environment: Record<string, string | undefined> = process.env,
): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(environment).filter(
      ([name]) => !/^(?:MUSTER_|APNS_|QSTASH_|OTEL_EXPORTER_OTLP_|DATABASE_URL$)/.test(name),
    ),
  );
}

/** For commands that call a server over HTTP; the server itself does not use them. */
const OF_CLIENTS = ['MUSTER_URL', 'MUSTER_TOKEN', 'MUSTER_TOKEN_FILE'];

/** Unchecked: those commands read few settings, and not all of the server's. */
export const clientEnvironment = (): Readonly<Record<string, string | undefined>> => process.env;

/** Variables that look like settings but are unknown: most likely typing errors. */
export function unknownSettings(environment: Record<string, string | undefined> = process.env): string[] {
  return Object.keys(environment).filter(
    (name) =>
      !Object.hasOwn(SETTINGS, name) &&
      !OF_CLIENTS.includes(name) &&
      (/^(?:MUSTER_(?!TEST_)|APNS_)/.test(name) || isNearly(name, 'DATABASE_URL')),
  );
}

/** Equal except for one letter that is missing, added, wrong, or swapped with its neighbour. */
function isNearly(name: string, meant: string): boolean {
  if (Math.abs(name.length - meant.length) > 1) return false;
  let same = 0;
  while (same < name.length && name[same] === meant[same]) same += 1;
  const [rest, meantRest] = [name.slice(same), meant.slice(same)];
  const swapped = `${rest[1]}${rest[0]}${rest.slice(2)}`;
  return (
    rest.slice(1) === meantRest ||
    rest === meantRest.slice(1) ||
    rest.slice(1) === meantRest.slice(1) ||
    swapped === meantRest
  );
}

function readSetting(name: SettingName, environment: Record<string, string | undefined>): unknown {
  const { default: fallback, read } = SETTINGS[name];
  const value = environment[name] || fallback;
  if (value === null) return null;
  try {
    return read(value);
  } catch (error) {
    if (error instanceof Complaint) throw new SettingError(name, error.message);
    throw error;
  }
}

/** Numeric settings: they are limits, and none is secret. */
export function limitsOf(config: Config) {
  return (Object.keys(SETTINGS) as SettingName[]).flatMap((setting) => {
    const value = config[setting];
    const { default: fallback, meaning } = SETTINGS[setting];
    return typeof value === 'number' && setting !== 'PORT'
      ? [{ setting, value, default: Number(fallback), meaning }]
      : [];
  });
}
