import { type BlockList, isIP } from 'node:net';

/** A dual-stack socket shows IPv4 clients as ::ffff:10.0.0.7. */
function plain(ip: string): string {
  return ip.startsWith('::ffff:') && ip.includes('.') ? ip.slice(7) : ip;
}

/** A proxy may send anything; what is not an address is in no list. */
export function isListed(addresses: BlockList, ip: string): boolean {
  const address = plain(ip);
  const version = isIP(address);
  return version !== 0 && addresses.check(address, version === 6 ? 'ipv6' : 'ipv4');
}

/**
 * The client behind these proxies: the last address that is not a trusted proxy, as Fastify determines it for requests.
 */
export function clientAddress(remote: string, forwarded: string | undefined, trusted: BlockList): string {
  let address = remote;
  const hops = forwarded === undefined ? [] : forwarded.split(',').map((hop) => hop.trim());
  for (const hop of hops.reverse()) {
    if (hop === '' || !isListed(trusted, address)) break;
    address = hop;
  }
  return address;
}

/** A host with one IPv6 address has the 2^64 of its network, so they count as one. */
export function countedAddress(ip: string): string {
  const address = plain(ip);
  if (isIP(address) !== 6) return address;
  const [before = '', after] = (address.split('%')[0] as string).split('::');
  const groups = (part: string) => (part === '' ? [] : part.split(':'));
  const first = groups(before);
  const last = after === undefined ? [] : groups(after);
  // a dotted end stands for two groups, and is among the first four only if the rest is written out
  const written = first.length + last.length + (address.includes('.') ? 1 : 0);
  const all = [...first, ...Array<string>(Math.max(0, 8 - written)).fill('0'), ...last];
  return `${all
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`;
}
