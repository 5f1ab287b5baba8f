import { lookup, Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import type { Resolve, ResolvedAddress } from './allow-rule.ts';
import { Turns } from './turns.ts';

/**
 * Which addresses a name has. The system's own look-up holds one of the four threads of the process until it is over, and whoever serves a name
 * says how long that takes: four that hang would hold up every other name, and files too. So names are asked of the network without a thread. The system is
 * asked for those in its list, and two at a time for names without a dot and those that the network does not know. A name whose servers hang or
 * fail is not among them: the system would ask the same servers.
 */
export interface Knowers {
  readonly byNetwork: Resolve;
  readonly bySystem: Resolve;
  /** What stands in the system's list of hosts. */
  listed(): Promise<string>;
}

const HOSTS = '/etc/hosts';
const AT_ONCE = 2;
/** There is no such name, or nobody to ask. */
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

/** Both families; one is enough. Without any, nobody knows the name only if both say so. */
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
