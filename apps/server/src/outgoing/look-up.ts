import { lookup, Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import type { Resolve, ResolvedAddress } from './allow-rule.ts';
import { Turns } from './turns.ts';

/**
 * Resolves names. The system's look-up blocks one of the process's four threads until it is done, and the name's
 * servers decide how long that takes: four that hang would hold up every other name, and files too. So names are
 * resolved over the network, without a thread. The system is asked for names in its hosts file, and, two at a time, for
 * names without a dot and names that the network does not know. Names whose servers hang or fail are not among them:
 * the system would ask the same servers.
 */
export interface Knowers {
  readonly byNetwork: Resolve;
  readonly bySystem: Resolve;
  /** The content of the system's hosts file. */
  listed(): Promise<string>;
}

const HOSTS = '/etc/hosts';
const AT_ONCE = 2;
/** No such name, or no server to ask. */
const UNKNOWN = new Set(['ENOTFOUND', 'ENODATA', 'ECONNREFUSED']);
const isUnknown = (error: unknown) => UNKNOWN.has((error as NodeJS.ErrnoException).code ?? '');

export function createLookUp({ byNetwork, bySystem, listed }: Knowers): Resolve {
  const turns = new Turns(AT_ONCE);
  async function inTurn(host: string, signal?: AbortSignal): Promise<readonly ResolvedAddress[]> {
    const giveBack = await turns.take(signal);
    return bySystem(host).finally(giveBack);
  }
  return async (host, signal) => {
    if (names(await listed()).has(host.toLowerCase())) return bySystem(host);
    if (!host.includes('.')) return inTurn(host, signal);
    try {
      return await byNetwork(host);
    } catch (error) {
      if (!isUnknown(error)) throw error;
      return inTurn(host, signal);
    }
  };
}

function names(list: string): Set<string> {
  return new Set(
    list.split('\n').flatMap((line) => (line.split('#')[0] as string).toLowerCase().split(/\s+/).slice(1)),
  );
}

/** Both families are asked; one is enough. Without any address, the name is unknown only if both say so. */
export function createNetworkLookUp(
  options = { timeout: 3_000, tries: 2 },
  servers?: readonly string[],
): Resolve {
  const resolver = new Resolver(options);
  if (servers) resolver.setServers(servers);
  return async (host) => {
    const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
    const found = answers.flatMap((one, nth) =>
      one.status === 'fulfilled' ? one.value.map((address) => ({ address, family: nth === 0 ? 4 : 6 })) : [],
    );
    if (found.length > 0) return found;
    const errors = answers.flatMap((one) => (one.status === 'rejected' ? [one.reason as Error] : []));
    throw errors.find((error) => !isUnknown(error)) ?? errors[0];
  };
}

export const lookUp = createLookUp({
  byNetwork: createNetworkLookUp(),
  bySystem: (host) => lookup(host, { all: true }),
  listed: () => readFile(HOSTS, 'utf8').catch(() => ''),
});
