import { BlockList } from 'node:net';
import { expect, test } from 'vitest';
import { countedAddress, isListed } from '../src/http/client-address.ts';
import { SignInFailures } from '../src/http/sign-in-failures.ts';

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:0DB8:1:2::', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['64:ff9b:1:2:3:4:192.0.2.1', '64:ff9b:1:2::/64'],
  ['64:ff9b::192.0.2.1', '64:ff9b:0:0::/64'],
  ['unknown', 'unknown'],
])('%s counts as %s', (ip, counted) => {
  expect(countedAddress(ip)).toBe(counted);
});

test('an invalid address is in no list', () => {
  const list = new BlockList();
  list.addSubnet('10.0.0.0', 8, 'ipv4');
  expect(
    ['10.1.2.3', '::ffff:10.1.2.3', '11.1.2.3', '::1', 'unknown', ''].map((ip) => isListed(list, ip)),
  ).toEqual([true, true, false, false, false, false]);
});

test('G66: only a limited number of addresses is remembered, those with the latest failures', () => {
  const failures = new SignInFailures(1, () => 0, 3);
  for (let n = 0; n < 1_000; n += 1) failures.count(`192.0.${n >> 8}.${n & 255}`);
  expect(failures.addresses).toBe(3);
  expect(failures.count('192.0.3.231')).toBe(60);
  expect(failures.count('192.0.0.1')).toBe(0);
});

test('G66: addresses of one IPv6 /64 share their failures', () => {
  const failures = new SignInFailures(2, () => 0);
  expect(
    ['2001:db8::1', '2001:db8::2', '2001:db8::3', '2001:db8:0:1::1'].map((ip) => failures.count(ip)),
  ).toEqual([0, 0, 60, 0]);
});
