import type { Host } from '@muster/engine';

/**
 * The URL of a database as libpq writes it, with several hosts:
 *
 *   postgres://user:password@one:5432,two:5432/database?target_session_attrs=read-write
 *
 * `pg` has no code for that, and the engine's driver tries the hosts. No message repeats the URL: it holds a password.
 */
export interface DatabaseUrl {
  /** For `pg`: with the first host, without what only this module reads. */
  readonly url: string;
  /** Of which the one that accepts writes is used; none: `pg` uses that of the URL, whatever it is. */
  readonly hosts: readonly Host[];
}

/** The message is the rest of a sentence that begins with the name of the setting. */
export class DatabaseUrlError extends Error {}

const FORM = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#@]*)([/?#].*)?$/s;
const ATTRS = 'target_session_attrs';
/** Misspelt it would be ignored. `pg` has no parameter like it. */
const LIKE_ATTRS = /^target|attrs?$/i;
/** The same to Muster: it writes, and a standby never accepts that. */
const WRITES = ['read-write', 'primary'];
const OTHERS = ['any', 'read-only', 'standby', 'prefer-standby'];
const USUAL_PORT = 5_432;

export function readDatabaseUrl(text: string): DatabaseUrl {
  const [, start = '', authority = '', rest = ''] = FORM.exec(text) ?? refuse(EXAMPLE);
  // everything up to that sign is password, and what looks like the host is a piece of it
  if (rest.includes('@'))
    refuse(
      'has an @ behind its host. In a user or password, write % as %25, / as %2F, ? as %3F, # as %23, @ as %40.',
    );
  const [path = '', ...asked] = rest.split('?');
  const parameters = asked.join('?').split('&').filter(Boolean);
  const values = new URLSearchParams(parameters.join('&'));
  const words = values.getAll(ATTRS);
  for (const word of words) checkAttrs(word);
  for (const name of values.keys())
    if (name !== ATTRS && LIKE_ATTRS.test(name)) refuse(`has the unknown parameter ${name}. Is it ${ATTRS}?`);
  const names = authority.split(',');
  const given = [...values.getAll('host'), ...values.getAll('port')];
  const isOfHosts = names.length > 1 || words.length > 0;
  if (given.some((value) => value.includes(',')) || (isOfHosts && given.length > 0))
    refuse(
      `must have its hosts before the name of the database, like host1:5432,host2:5432, not as parameters; a folder of sockets is written as %2Fvar%2Frun%2Fpostgresql.`,
    );
  const kept = parameters.filter((one) => !one.startsWith(`${ATTRS}=`));
  const ofHost = (name: string) => `${start}${name}${path}${kept.length > 0 ? `?${kept.join('&')}` : ''}`;
  const url = ofHost(names[0] ?? '');
  if (!URL.canParse(url)) refuse(EXAMPLE);
  if (!isOfHosts) return { url: text, hosts: [] };
  return { url, hosts: names.map(hostOf) };
}

const HOSTS = 'must have each of its hosts as host or host:5432, separated by commas.';
const EXAMPLE = 'must be a URL like postgres://user:password@host:5432/database.';

function checkAttrs(word: string): void {
  if (WRITES.includes(word)) return;
  if (OTHERS.includes(word))
    refuse(`must not have ${ATTRS}=${word}: Muster needs the server that it can write to. Use read-write.`);
  refuse(`must have no other ${ATTRS} than read-write.`);
}

function hostOf(name: string): Host {
  const [, address, host, port = String(USUAL_PORT)] =
    /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(name) ?? refuse(HOSTS);
  const number = Number(port);
  if (number < 1 || number > 65_535) refuse('must have ports from 1 to 65535.');
  return { host: address ?? decoded(host ?? ''), port: number };
}

/** A socket's folder is written as %2Fvar%2Frun. */
function decoded(host: string): string {
  try {
    return decodeURIComponent(host);
  } catch {
    return refuse(HOSTS);
  }
}

function refuse(complaint: string): never {
  throw new DatabaseUrlError(complaint);
}
