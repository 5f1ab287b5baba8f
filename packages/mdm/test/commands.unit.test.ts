import { expect, test } from 'vitest';
import { buildCommand, checkCommand, parseCommand } from '../src/commands/command.ts';
import { mayBeNotNow } from '../src/commands/known-commands.ts';
import * as make from '../src/commands/make.ts';
import { buildPlist } from '../src/plist/build-plist.ts';
import { type PlistDict, parsePlist } from '../src/plist/parse-plist.ts';

const UUID = '0d7b1d2a-31c5-4f0a-9a39-0b2f4c1f6c11';
const invalid = expect.objectContaining({ name: 'MdmError', code: 'COMMAND_INVALID' });

test('the exact bytes of DeviceLock', () => {
  expect(
    buildCommand(UUID, make.deviceLock({ message: 'Found? <Call> us', phoneNumber: '+84' })).toString(),
  ).toBe(
    `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
  <dict>
    <key>CommandUUID</key>
    <string>${UUID}</string>
    <key>Command</key>
    <dict>
      <key>RequestType</key>
      <string>DeviceLock</string>
      <key>Message</key>
      <string>Found? &lt;Call&gt; us</string>
      <key>PhoneNumber</key>
      <string>+84</string>
    </dict>
  </dict>
</plist>`,
  );
});

test.each([
  [make.deviceLock(), { RequestType: 'DeviceLock' }],
  [
    make.clearPasscode(Uint8Array.of(1, 2)),
    { RequestType: 'ClearPasscode', UnlockToken: Uint8Array.of(1, 2) },
  ],
  [make.removeProfile('com.x'), { RequestType: 'RemoveProfile', Identifier: 'com.x' }],
  [make.installProfile(Uint8Array.of(60)), { RequestType: 'InstallProfile', Payload: Uint8Array.of(60) }],
  [make.deviceInformation(['Model']), { RequestType: 'DeviceInformation', Queries: ['Model'] }],
  [make.profileList(), { RequestType: 'ProfileList' }],
  [make.deviceConfigured(), { RequestType: 'DeviceConfigured' }],
  [make.eraseDevice({ pin: '123456' }), { RequestType: 'EraseDevice', PIN: '123456' }],
  [{ requestType: 'SecurityInfo', keys: {} }, { RequestType: 'SecurityInfo' }],
])('the command %j is read as intended, in an operator’s notation too', (command, inner) => {
  const bytes = buildCommand(UUID, command);
  expect(parsePlist(bytes)).toEqual({ CommandUUID: UUID, Command: inner });
  // a ClearPasscode token in the list is not kept: the newest one is added when the command is handed out
  const keys = command.requestType === 'ClearPasscode' ? {} : command.keys;
  expect(parseCommand(bytes)).toEqual({ ...command, keys, commandUuid: UUID });
});

test.each([
  ['ClearPasscode', {}],
  ['ClearPasscode', { UnlockToken: 'text' }],
  ['ClearPasscode', { UnlockToken: new Uint8Array(0) }],
  ['RemoveProfile', {}],
  ['InstallProfile', { Payload: 'text' }],
  ['DeviceInformation', { Queries: 'Model' }],
  ['DeviceLock', { PIN: '12345' }],
  ['DeviceLock', { Message: 5 }],
  ['EraseDevice', { ObliterationBehavior: 'Sometimes' }],
  ['EraseDevice', { ReturnToService: {} }],
  ['ProfileList', { RequestType: 'EraseDevice' }],
  ['__proto__', {}],
  ['', {}],
  ['a b', {}],
] satisfies [string, PlistDict][])('%s with %j is refused', (requestType, keys) => {
  expect(() => checkCommand({ requestType, keys })).toThrow(invalid);
});

test('a command has a size', () => {
  expect(() => buildCommand(UUID, make.installProfile(new Uint8Array(2_000)), 1_000)).toThrow(invalid);
  expect(() => parseCommand(buildPlist({ CommandUUID: UUID }))).toThrow(invalid);
  expect(() => parseCommand(buildPlist({ Command: {} }))).toThrow(invalid);
  expect(
    parseCommand(buildPlist({ CommandUUID: 'a b', Command: { RequestType: 'ProfileList' } })),
  ).toMatchObject({
    commandUuid: null,
  });
});

test('commands that a device never puts off are known', () => {
  expect(['DeviceLock', 'ClearPasscode', 'EraseDevice'].map(mayBeNotNow)).toEqual([false, false, false]);
  expect(['RemoveProfile', 'InstallProfile', 'Whatever'].map(mayBeNotNow)).toEqual([true, true, true]);
});
