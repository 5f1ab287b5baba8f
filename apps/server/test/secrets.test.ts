import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { testDatabase } from '@muster/engine/testing';
import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { readConfig } from '../src/config.ts';
import { LINES } from '../src/database/migrations.ts';
import { openSecrets } from '../src/secrets/open-secrets.ts';
import { createSecrets } from '../src/secrets/secrets.ts';

let database: Awaited<ReturnType<typeof testDatabase>>;
let folder: string;
beforeAll(async () => {
  database = await testDatabase({ lines: LINES });
  folder = mkdtempSync(path.join(tmpdir(), 'muster-secrets-'));
});
afterAll(async () => {
  await database.drop();
  rmSync(folder, { recursive: true });
});
beforeEach(async () => {
  await database.db.query({ text: 'delete from muster.secret_keys' });
});

const [first, second] = [randomBytes(32), randomBytes(32)];
/** A start with these settings; `mayMakeKey` is that of the embedded database. */
const start = (settings: Record<string, string>, mayMakeKey = false) =>
  openSecrets(readConfig({ MUSTER_DATA_DIR: folder, ...settings }), database.db, {
    schema: 'muster',
    mayMakeKey,
  });

test('G82: a sealed value opens only with its key and for its purpose, and reveals nothing', () => {
  const secrets = createSecrets([first]);
  const sealed = secrets.seal('the master passcode', 'unlock-token:1:7');
  expect(secrets.open(sealed, 'unlock-token:1:7').toString()).toBe('the master passcode');
  expect(sealed.includes('passcode')).toBe(false);
  expect(secrets.seal('the master passcode', 'unlock-token:1:7').equals(sealed)).toBe(false);
  const unreadable = { code: 'MUSTER_SECRET_UNREADABLE' };
  expect(() => secrets.open(sealed, 'unlock-token:1:8')).toThrow(expect.objectContaining(unreadable));
  expect(() => createSecrets([second]).open(sealed, 'unlock-token:1:7')).toThrow(
    expect.objectContaining(unreadable),
  );
  for (let at = 0; at < sealed.byteLength; at += 1) {
    const changed = Buffer.from(sealed);
    changed[at] = (changed[at] as number) ^ 1;
    expect(() => secrets.open(changed, 'unlock-token:1:7')).toThrow(expect.objectContaining(unreadable));
    expect(() => secrets.open(sealed.subarray(0, at), 'unlock-token:1:7')).toThrow(
      expect.objectContaining(unreadable),
    );
  }
});

test('G82: a start with another key is refused with a sentence that does not contain the key', async () => {
  await start({ MUSTER_SECRETS_KEY: first.toString('base64') });
  await start({ MUSTER_SECRETS_KEY: first.toString('hex') });
  const wrong = second.toString('base64');
  const refused = await start({ MUSTER_SECRETS_KEY: wrong }).catch((error) => error);
  expect(refused.message).toBe(
    'MUSTER_SECRETS_KEY did not seal the values of this database. ' +
      'Put the former key into MUSTER_SECRETS_OLD_KEYS.',
  );
  await expect(start({})).rejects.toThrow(
    'MUSTER_SECRETS_KEY is not set, but this database has sealed values.',
  );
  // the refused start has left nothing behind that would refuse the right key
  await start({ MUSTER_SECRETS_KEY: first.toString('base64') });
});

test('G82: after a change of the key the old one still opens, and nothing new is sealed with it', async () => {
  const old = await start({ MUSTER_SECRETS_KEY: first.toString('base64') });
  const sealed = old.seal('kept', 'of the test');
  const settings = {
    MUSTER_SECRETS_KEY: second.toString('base64'),
    MUSTER_SECRETS_OLD_KEYS: ` ${first.toString('hex')}, `,
  };
  const now = await start(settings);
  expect(now.open(sealed, 'of the test').toString()).toBe('kept');
  expect(() => old.open(now.seal('new', 'of the test'), 'of the test')).toThrow();
  await expect(start({ MUSTER_SECRETS_KEY: second.toString('base64') })).rejects.toThrow('did not seal');
});

test('G82: of two simultaneous first starts with different keys one is refused', async () => {
  // both are open before either has written its key: only then does the order of locks matter
  const { db } = database;
  let [isHeld, goOn] = [() => {}, () => {}];
  const held = new Promise<void>((resolve) => (isHeld = resolve));
  const mayGoOn = new Promise<void>((resolve) => (goOn = resolve));
  const holding = db.transaction(async (tx) => {
    await tx.query({ text: 'lock table muster.secret_keys in exclusive mode' });
    isHeld();
    await mayGoOn;
  });
  await held;
  const starting = Promise.allSettled(
    [first, second].map((key) => start({ MUSTER_SECRETS_KEY: key.toString('base64') })),
  );
  const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  if (inject('database') === 'postgres')
    await expect.poll(async () => (await db.query({ text: waiting })).rows.length).toBe(2);
  goOn();
  await holding;
  const starts = await starting;
  expect(starts.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
});

test('the embedded database gets a key once, readable only by its owner', async () => {
  const sealed = (await start({}, true)).seal('kept', 'of the test');
  const file = path.join(folder, 'secrets-key');
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect((await start({}, true)).open(sealed, 'of the test').toString()).toBe('kept');
  // moved to a server, it is a setting
  const key = readFileSync(file, 'utf8').trim();
  expect((await start({ MUSTER_SECRETS_KEY: key })).open(sealed, 'of the test').toString()).toBe('kept');
  rmSync(file);
  await expect(start({}, true)).rejects.toThrow(/the key in .*secrets-key did not seal the values/);
  writeFileSync(file, 'no key');
  await expect(start({}, true)).rejects.toThrow(/has no valid key in .*secrets-key/);
});

test('without a key nothing is sealed, and the error says so', async () => {
  const secrets = await start({});
  expect(secrets.isReady).toBe(false);
  expect(() => secrets.seal('', '')).toThrow(expect.objectContaining({ code: 'MUSTER_SECRETS_KEY_MISSING' }));
  await expect(start({ MUSTER_SECRETS_OLD_KEYS: first.toString('hex') })).rejects.toThrow(
    'MUSTER_SECRETS_OLD_KEYS is only for former keys',
  );
  for (const bad of ['short', 'a'.repeat(63), `${first.toString('base64')}!`])
    expect(() => readConfig({ MUSTER_SECRETS_KEY: bad })).toThrow(
      /^MUSTER_SECRETS_KEY must be 32 random bytes in base64 or hex\. Try: openssl rand -base64 32$/,
    );
});
