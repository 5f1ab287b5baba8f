import { expect, test } from 'vitest';
import { parseCheckIn } from '../src/messages/check-in.ts';
import { isCheckIn } from '../src/messages/content-type.ts';
import { readReport } from '../src/messages/report.ts';
import { buildPlist } from '../src/plist/build-plist.ts';
import type { PlistDict } from '../src/plist/parse-plist.ts';

const UDID = '00008030-001234567890002E';
const device = { deviceId: UDID, byod: false, user: null };
const checkIn = (dict: PlistDict) => parseCheckIn(buildPlist({ UDID, Topic: 'com.apple.mgmt.x', ...dict }));
const refused = (code: string) => expect.objectContaining({ name: 'MdmError', code });

test('Authenticate returns what the device says about itself', () => {
  const facts = {
    SerialNumber: 'C02',
    OSVersion: '18.1',
    BuildVersion: '22B',
    ProductName: 'iPhone14,5',
    IMEI: '35',
  };
  const read = checkIn({
    MessageType: 'Authenticate',
    ...facts,
    ModelName: 'iPhone',
    DeviceName: 7,
    NewKey: [1],
  });
  expect(read).toEqual({
    type: 'Authenticate',
    channel: device,
    topic: 'com.apple.mgmt.x',
    serialNumber: 'C02',
    osVersion: '18.1',
    buildVersion: '22B',
    productName: 'iPhone14,5',
    model: null,
    modelName: 'iPhone',
    deviceName: null,
    imei: '35',
    meid: null,
  });
});

test('TokenUpdate without an UnlockToken does not change the previous one', () => {
  const update = { MessageType: 'TokenUpdate', Token: Uint8Array.of(1, 2), PushMagic: 'magic' };
  expect(checkIn(update)).toMatchObject({
    token: Uint8Array.of(1, 2),
    pushMagic: 'magic',
    unlockToken: null,
    awaitingConfiguration: false,
  });
  expect(checkIn({ ...update, UnlockToken: new Uint8Array(0) })).toMatchObject({ unlockToken: null });
  expect(checkIn({ ...update, UnlockToken: Uint8Array.of(9), AwaitingConfiguration: true })).toMatchObject({
    unlockToken: Uint8Array.of(9),
    awaitingConfiguration: true,
  });
});

test.each([
  ['no type', {}],
  ['no token', { MessageType: 'TokenUpdate', PushMagic: 'm' }],
  ['an empty token', { MessageType: 'TokenUpdate', PushMagic: 'm', Token: new Uint8Array(0) }],
  ['a token that is a text', { MessageType: 'TokenUpdate', PushMagic: 'm', Token: 'abcd' }],
  ['a token too long', { MessageType: 'TokenUpdate', PushMagic: 'm', Token: new Uint8Array(1_025) }],
  ['no magic', { MessageType: 'TokenUpdate', Token: Uint8Array.of(1) }],
  ['no topic', { MessageType: 'CheckOut', Topic: '' }],
  ['no id', { MessageType: 'CheckOut', UDID: '' }],
  ['an id that is a number', { MessageType: 'CheckOut', UDID: 5 }],
  ['an id with a line break', { MessageType: 'CheckOut', UDID: 'a\nb' }],
  ['an id too long', { MessageType: 'CheckOut', UDID: 'x'.repeat(256) }],
] satisfies [string, PlistDict][])('a check-in with %s is refused', (_what, dict) => {
  expect(() => checkIn(dict)).toThrow(refused('MESSAGE_INCOMPLETE'));
});

test('bootstrap tokens are set, deleted and requested', () => {
  const set = { MessageType: 'SetBootstrapToken' };
  expect(checkIn({ ...set, BootstrapToken: Uint8Array.of(1) })).toMatchObject({
    bootstrapToken: Uint8Array.of(1),
  });
  expect(checkIn(set)).toMatchObject({ type: 'SetBootstrapToken', bootstrapToken: null });
  expect(checkIn({ MessageType: 'GetBootstrapToken' })).toEqual({
    type: 'GetBootstrapToken',
    channel: device,
  });
});

test('unsupported types are named, not refused', () => {
  for (const messageType of ['DeclarativeManagement', 'GetToken', 'ReturnToService', '__proto__'])
    expect(checkIn({ MessageType: messageType })).toEqual({ type: 'Unknown', channel: device, messageType });
});

test('the channel of a user differs from that of the device, on each kind of device', () => {
  const channel = (dict: PlistDict) =>
    parseCheckIn(buildPlist({ MessageType: 'UserAuthenticate', ...dict })).channel;
  expect(channel({ UDID, UserID: 'U1', UserShortName: 'ann', UserLongName: 'Ann' })).toEqual({
    ...device,
    user: { id: 'U1', shortName: 'ann', longName: 'Ann' },
  });
  const shared = { UDID, UserID: 'FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF', UserShortName: 'kid7' };
  expect(channel(shared).user?.id).toBe('kid7');
  expect(channel({ EnrollmentID: 'E1' })).toEqual({ deviceId: 'E1', byod: true, user: null });
  expect(channel({ EnrollmentID: 'E1', EnrollmentUserID: 'EU1' })).toMatchObject({
    byod: true,
    user: { id: 'EU1' },
  });
  expect(channel({ UDID, EnrollmentID: 'E1' })).toEqual(device);
  expect(channel({ UDID: UDID.toLowerCase() }).deviceId).not.toBe(UDID);
});

test('the content type tells what a request carries', () => {
  expect(isCheckIn('application/x-apple-aspen-mdm-checkin')).toBe(true);
  expect(isCheckIn('Application/X-Apple-Aspen-MDM-Checkin; charset=UTF-8')).toBe(true);
  expect(isCheckIn('application/x-apple-aspen-mdm; charset=UTF-8')).toBe(false);
  expect(isCheckIn(undefined)).toBe(false);
});

const report = (dict: PlistDict) => readReport(buildPlist({ UDID, ...dict }));
const ofCommand = { channel: device, needSync: false, commandUuid: 'c-1', requestType: null };

test('reports are distinguished by their status', () => {
  expect(report({ Status: 'Idle' })).toEqual({
    ok: true,
    report: { status: 'Idle', channel: device, needSync: false },
  });
  expect(report({ Status: 'NotNow', CommandUUID: 'c-1' })).toEqual({
    ok: true,
    report: { status: 'NotNow', ...ofCommand },
  });
  const answer = {
    Status: 'Acknowledged',
    CommandUUID: 'c-1',
    QueryResponses: { Model: 'X' },
    NeedSyncResponse: true,
  };
  expect(report(answer)).toEqual({
    ok: true,
    report: {
      status: 'Acknowledged',
      ...ofCommand,
      needSync: true,
      response: { QueryResponses: { Model: 'X' } },
    },
  });
});

test('an error has its chain, outermost first, which may be empty', () => {
  const link = { ErrorCode: 12021, ErrorDomain: 'MCMDMErrorDomain', LocalizedDescription: 'Unbekannt' };
  const chain = [link, { ...link, ErrorCode: 1, USEnglishDescription: 'Unknown' }, 'nonsense', {}];
  expect(report({ Status: 'Error', CommandUUID: 'c-1', RequestType: 'X', ErrorChain: chain })).toEqual({
    ok: true,
    report: {
      status: 'Error',
      ...ofCommand,
      requestType: 'X',
      errorChain: [
        { code: 12021, domain: 'MCMDMErrorDomain', description: 'Unbekannt' },
        { code: 1, domain: 'MCMDMErrorDomain', description: 'Unknown' },
        { code: null, domain: null, description: null },
      ],
    },
  });
  expect(report({ Status: 'CommandFormatError', CommandUUID: 'c-1' })).toEqual({
    ok: true,
    report: { status: 'CommandFormatError', ...ofCommand, errorChain: [] },
  });
});

const nothing = { commandUuid: null, status: null, udid: null, enrollmentId: null, userId: null };

test('an unreadable report still yields what can be found in it', () => {
  const whole = buildPlist({ UDID, Status: 'Acknowledged', CommandUUID: 'c-1', Name: 'x' }).toString();
  const found = { ...nothing, commandUuid: 'c-1', status: 'Acknowledged', udid: UDID };
  for (const broken of [whole.slice(0, -20), whole.replace('>x<', '>\u0001<'), whole.replace('>x<', '>&x;<')])
    expect(readReport(Buffer.from(broken, 'latin1'))).toMatchObject({ ok: false, salvaged: found });
  expect(report({ Status: 'Dreaming', CommandUUID: 'c-1' })).toMatchObject({
    ok: false,
    error: { code: 'MESSAGE_UNKNOWN' },
    salvaged: { ...found, status: null },
  });
});

test('an ambiguous key in a broken report is ignored', () => {
  const broken = '<key>CommandUUID</key><string>c-1</string><key>CommandUUID</key><string>c-2</string>';
  expect(readReport(Buffer.from(broken))).toMatchObject({ ok: false, salvaged: nothing });
  expect(readReport(Buffer.from('no plist'))).toMatchObject({ ok: false, salvaged: nothing });
  expect(report({ Status: 'Acknowledged' })).toMatchObject({
    ok: false,
    error: { code: 'MESSAGE_INCOMPLETE' },
  });
});
