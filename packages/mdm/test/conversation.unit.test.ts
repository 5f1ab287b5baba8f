import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  ApnsClient,
  type Authority,
  commands,
  createAuthority,
  loadAuthority,
  mdmPush,
} from '../src/index.ts';
import { FakeApns, issuerOf, Phone, Refused, ScepRefused, testCertificate } from '../src/simulation/index.ts';
import { PlayedGateway } from './played-gateway.ts';

const NOW = new Date('2026-05-01T12:00:00Z');
let authority: Authority;
let gateway: PlayedGateway;

beforeAll(async () => {
  authority = await loadAuthority(await createAuthority({ commonName: 'Muster CA', now: NOW }));
});
beforeEach(async () => {
  gateway = await new PlayedGateway(authority, NOW).start();
});
afterEach(() => gateway.close());

async function enrolled(phone = new Phone()): Promise<Phone> {
  await phone.enrol(`${gateway.url}/profile`);
  return phone;
}
const statuses = () => gateway.reports.map(({ status }) => status);

test('a phone enrols with nothing but the address of its profile, and is known by its certificate', async () => {
  const phone = await enrolled();
  expect(gateway.checkIns.map(({ checkIn, enrolment }) => [checkIn.type, enrolment])).toEqual([
    ['Authenticate', 'enrolment-1'],
    ['TokenUpdate', 'enrolment-1'],
  ]);
  const [authenticate, tokenUpdate] = gateway.checkIns;
  expect(authenticate?.checkIn).toMatchObject({
    channel: { deviceId: phone.udid },
    serialNumber: phone.serial,
  });
  expect(authenticate?.identity.certificate.subject).toBe('O=Muster\nCN=enrolment-1');
  expect(tokenUpdate?.identity.hash).toBe(authenticate?.identity.hash);
  expect(tokenUpdate?.checkIn).toMatchObject({ pushMagic: phone.channel.pushMagic });
});

test('a phone is woken, locked, unlocked and released', async () => {
  const phone = await enrolled();
  const apns = await FakeApns.start();
  const client = new ApnsClient({ url: apns.url, ca: apns.ca, ...(await apns.pushCertificate()) });
  gateway.queue = [
    { uuid: 'c-1', command: commands.deviceLock({ message: 'Lost' }) },
    { uuid: 'c-2', command: commands.clearPasscode(phone.unlockToken) },
    { uuid: 'c-3', command: commands.deviceInformation(['OSVersion', 'Nonsense']) },
    { uuid: 'c-4', command: commands.removeProfile('io.muster.enrolment') },
  ];
  const { stop } = phone.channel.listen(apns);
  const { token, pushMagic } = phone.channel;
  const push = mdmPush({
    token,
    pushMagic,
    topic: client.topic,
    now: NOW,
    apnsId: '0d7b1d2a-31c5-4f0a-9a39-0b2f4c1f6c11',
  });
  expect(await client.push(push)).toMatchObject({ kind: 'accepted' });
  await stop();
  expect(statuses()).toEqual(['Idle', ...Array(4).fill('Acknowledged')]);
  expect(gateway.reports[3]).toMatchObject({ response: { QueryResponses: { OSVersion: '18.1' } } });
  expect(gateway.checkIns.at(-1)?.checkIn.type).toBe('CheckOut');
  expect([phone.locked, phone.enrolled]).toEqual([false, false]);
  await client.close();
  await apns.close();
});

test('a busy phone says so and gets the same command again', async () => {
  const phone = await enrolled();
  gateway.queue = [{ uuid: 'c-1', command: commands.removeProfile('com.other') }];
  phone.busyFor.add('RemoveProfile');
  await phone.connect();
  phone.busyFor.clear();
  await phone.connect();
  expect(statuses()).toEqual(['Idle', 'NotNow', 'Idle', 'Error']);
  expect(gateway.reports[3]).toMatchObject({ errorChain: [{ code: 12_013, domain: 'MCMDMErrorDomain' }] });
});

test('a result that was lost on the way is sent first the next time; one may come twice', async () => {
  const phone = await enrolled();
  gateway.queue = [{ uuid: 'c-1', command: commands.deviceLock() }];
  phone.channel.dropNext = 1;
  await expect(phone.connect()).rejects.toThrow('dropped');
  await phone.connect();
  expect(phone.channel.said).toEqual(['Idle', 'Acknowledged']);
  expect(statuses()).toEqual(['Idle', 'Acknowledged', 'Acknowledged']);

  gateway.queue = [{ uuid: 'c-2', command: commands.profileList() }];
  phone.channel.duplicates = true;
  await phone.connect();
  expect(statuses().slice(3)).toEqual(['Idle', 'Acknowledged', 'Acknowledged']);
});

test('an erased phone reports it once and never comes back', async () => {
  const phone = await enrolled();
  gateway.queue = [{ uuid: 'c-1', command: commands.eraseDevice() }];
  phone.channel.dropNext = 1;
  await expect(phone.connect()).rejects.toThrow('dropped');
  expect([phone.erased, phone.channel.unsent]).toEqual([true, null]);
});

test('users of a device have a channel and tokens of their own; a personal device has no UDID', async () => {
  const phone = await enrolled();
  const ann = phone.user('U-1', { UserShortName: 'ann' });
  await ann.tokenUpdate();
  await ann.connect();
  const update = gateway.checkIns.at(-1)?.checkIn;
  expect(update).toMatchObject({ channel: { deviceId: phone.udid, user: { id: 'U-1', shortName: 'ann' } } });
  expect(ann.token).not.toEqual(phone.channel.token);
  expect(gateway.reports[0]?.channel.user?.id).toBe('U-1');

  const own = await enrolled(new Phone({ enrollmentId: 'E-1' }));
  expect(gateway.checkIns.at(-1)?.checkIn.channel).toEqual({ deviceId: 'E-1', byod: true, user: null });
  await own.user('EU-1').connect();
  expect(gateway.reports.at(-1)?.channel).toMatchObject({ deviceId: 'E-1', user: { id: 'EU-1' } });
});

test('tokens change, certificates are renewed, and the old and the new ones are distinguished', async () => {
  const phone = await enrolled(new Phone({ digest: 'SHA-1' }));
  phone.channel.rotateToken();
  await phone.tokenUpdate({ AwaitingConfiguration: true });
  expect(gateway.checkIns.at(-1)?.checkIn).toMatchObject({
    token: new Uint8Array(phone.channel.token),
    unlockToken: null,
    awaitingConfiguration: true,
  });
  await phone.renewCertificate();
  await phone.authenticate();
  const hashes = new Set(gateway.checkIns.map(({ identity }) => identity.hash));
  expect(hashes.size).toBe(2);
});

test('a phone with a certificate issued by the test needs no SCEP', async () => {
  const issuer = issuerOf({
    certificate: authority.pem,
    key: authority.key.export({ format: 'pem', type: 'pkcs8' }).toString(),
  });
  const identity = await testCertificate({ commonName: 'enrolment-1', issuer, purposes: ['clientAuth'] });
  await new Phone().enrol(gateway.profile(), { identity });
  expect(gateway.checkIns.map(({ checkIn }) => checkIn.type)).toEqual(['Authenticate', 'TokenUpdate']);
});

test('a proxy passes the certificate of a phone in a header', async () => {
  await enrolled(new Phone({ by: { header: 'x-client-cert' } }));
  expect(gateway.checkIns.map(({ identity }) => identity.by)).toEqual(['header', 'header']);
});

test('a wrong secret, a foreign certificate and nonsense are refused, and no phone leaves the fleet because of it', async () => {
  const thief = gateway.profile('enrolment-2').toString().replaceAll('secret of enrolment-2', 'guessed');
  await expect(new Phone().enrol(Buffer.from(thief))).rejects.toThrow(ScepRefused);

  const phone = await enrolled();
  const foreign = await loadAuthority(await createAuthority({ commonName: 'Muster CA', now: NOW }));
  const elsewhere = await new PlayedGateway(foreign, NOW).start();
  const stranger = new Phone();
  await stranger.enrol(`${elsewhere.url}/profile`);
  elsewhere.close();
  phone.identity = stranger.identity;
  await expect(phone.connect()).rejects.toThrow(Refused);
  expect(gateway.refusals).toEqual(['CERTIFICATE_FOREIGN']);
  expect([phone.enrolled, statuses()]).toEqual([true, []]);
});
