import { expect, test } from 'vitest';
import { parsePlist } from '../src/plist/parse-plist.ts';
import { buildEnrolmentProfile, type EnrolmentProfile } from '../src/profile/enrolment-profile.ts';

const wish: EnrolmentProfile = {
  identifier: 'io.muster.enrolment',
  displayName: 'Muster',
  organization: 'Muster',
  enrolmentId: 'enrolment-1',
  serverUrl: 'https://muster.example/mdm/default',
  scep: { url: 'https://muster.example/scep', challenge: 'only <once>' },
  topic: 'com.apple.mgmt.External.test',
};

test('the exact enrolment profile', async () => {
  await expect(buildEnrolmentProfile(wish).toString()).toMatchFileSnapshot('fixtures/enrolment.mobileconfig');
});

/** A value as a text, to search for a part of it. */
const asText = (more: Partial<EnrolmentProfile>) =>
  JSON.stringify(parsePlist(buildEnrolmentProfile({ ...wish, ...more })));

test('its identifiers are the same for one enrolment and differ for another', () => {
  const uuids = (text: string): string[] =>
    text.match(/[0-9A-F]{8}-[0-9A-F]{4}-8[0-9A-F]{3}-[89AB][0-9A-F]{3}-[0-9A-F]{12}/g) ?? [];
  const first = uuids(asText({}));
  expect(new Set(first).size).toBe(3);
  expect(uuids(asText({ displayName: 'Another' }))).toEqual(first);
  expect(uuids(asText({ enrolmentId: 'enrolment-2' })).filter((uuid) => first.includes(uuid))).toEqual([]);
});

test('address and name carry the enrolment, whatever characters they have', () => {
  const odd = { enrolmentId: 'a&b=c/ü', serverUrl: 'https://muster.example/mdm/t?x=1' };
  const { PayloadContent } = parsePlist(buildEnrolmentProfile({ ...wish, ...odd }));
  const [scep, mdm] = PayloadContent as { [key: string]: string & { Subject: unknown } }[];
  expect(scep?.PayloadContent?.Subject).toEqual([[['O', 'Muster']], [['CN', 'a&b=c/ü']]]);
  for (const key of ['ServerURL', 'CheckInURL'])
    expect(new URL(String(mdm?.[key])).searchParams.get('e')).toBe('a&b=c/ü');
  expect(String(mdm?.ServerURL)).toContain('x=1');
});

test('options: another check-in address, fewer rights, a fingerprint', () => {
  const text = asText({ checkInUrl: 'https://muster.example/checkin', accessRights: 7 });
  expect(text).toContain('"CheckInURL":"https://muster.example/checkin?e=enrolment-1"');
  expect(text).toContain('"AccessRights":7,');
  expect(text).not.toContain('CAFingerprint');
  expect(asText({ scep: { ...wish.scep, fingerprint: Uint8Array.of(1) } })).toContain('CAFingerprint');
  expect(() => asText({ topic: 'com.x.app' })).toThrow(expect.objectContaining({ code: 'TOPIC_MISSING' }));
});
