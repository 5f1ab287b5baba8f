import { BlockList, isIP } from 'node:net';

/**
 * Which addresses belong to the public internet. Of IPv6 only allocated networks (2000::/3) count, so addresses that
 * embed an IPv4 address, and ranges allocated in the future, are not public until they are added here.
 */
const RESERVED_V4: readonly (readonly [string, number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
];
/** Within 2000::/3: Teredo and similar, documentation, 6to4. */
const RESERVED_V6: readonly (readonly [string, number])[] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
];

const reserved = new BlockList();
for (const [network, bits] of RESERVED_V4) reserved.addSubnet(network, bits, 'ipv4');
for (const [network, bits] of RESERVED_V6) reserved.addSubnet(network, bits, 'ipv6');
const givenOut = new BlockList();
givenOut.addSubnet('2000::', 3, 'ipv6');

export function isPublic(address: string): boolean {
  if (isIP(address) === 4) return !reserved.check(address, 'ipv4');
  return isIP(address) === 6 && givenOut.check(address, 'ipv6') && !reserved.check(address, 'ipv6');
}
