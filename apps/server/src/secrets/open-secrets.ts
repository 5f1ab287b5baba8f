import { randomBytes } from 'node:crypto';
import { type Database, whileLocked } from '@muster/engine';
import { type Config, SettingError } from '../config.ts';
import { dataFolder, makeDataFolder, readSecretFile, writeSecretFile } from '../data-folder/data-folder.ts';
import { createSecrets, KEY_BYTES, keyId, type Secrets } from './secrets.ts';

const PROBE = 'muster secrets key';

/**
 * The keys of this installation: from the settings or, with the embedded database, one stored beside it. The database
 * recognises every key that was in use, so a wrong or missing one is reported at the start, not when the first value
 * has to be opened.
 */
export async function openSecrets(
  config: Config,
  db: Database,
  { schema, mayMakeKey }: { readonly schema: string; readonly mayMakeKey: boolean },
): Promise<Secrets> {
  const setting = config.MUSTER_SECRETS_KEY;
  const present = setting ?? (mayMakeKey ? keyOfFolder(config) : null);
  const keys = [...(present ? [present] : []), ...config.MUSTER_SECRETS_OLD_KEYS];
  if (!present && keys.length > 0)
    throw new SettingError('MUSTER_SECRETS_OLD_KEYS', 'is only for former keys: set MUSTER_SECRETS_KEY too.');
  const secrets = createSecrets(keys);
  await whileLocked(db, async (tx) => {
    // Nodes that start concurrently with different keys: the second sees the key of the first.
    await tx.query({ text: `lock table ${schema}.secret_keys in exclusive mode` });
    const { rows } = await tx.query({ text: `select key_id, probe from ${schema}.secret_keys` });
    const ours = new Set(keys.map((key) => keyId(key).toString('hex')));
    const missing = rows.find(({ key_id: id }) => !ours.has(id.toString('hex')));
    if (missing) throw wrongKey(config, present !== null, mayMakeKey);
    for (const { probe } of rows) secrets.open(probe, PROBE);
    if (!present || rows.some(({ key_id: id }) => keyId(present).equals(id))) return;
    await tx.query({
      text: `insert into ${schema}.secret_keys (key_id, probe) values ($1, $2)`,
      values: [keyId(present), secrets.seal('', PROBE)],
    });
  });
  return secrets;
}

function keyOfFolder({ MUSTER_DATA_DIR: folder }: Config): Buffer {
  const { secretsKeyFile: file } = dataFolder(folder);
  const kept = readSecretFile(file, 'The secrets key');
  if (kept !== null) {
    const key = Buffer.from(kept, 'base64');
    if (key.byteLength !== KEY_BYTES)
      throw new SettingError('MUSTER_DATA_DIR', `has no valid key in ${file}.`);
    return key;
  }
  const key = randomBytes(KEY_BYTES);
  makeDataFolder(folder);
  writeSecretFile(file, key.toString('base64'));
  return key;
}

function wrongKey(config: Config, isGiven: boolean, mayMakeKey: boolean): SettingError {
  const rest = 'Put the former key into MUSTER_SECRETS_OLD_KEYS.';
  if (!isGiven)
    return new SettingError('MUSTER_SECRETS_KEY', 'is not set, but this database has sealed values.');
  if (config.MUSTER_SECRETS_KEY === null && mayMakeKey) {
    const { secretsKeyFile } = dataFolder(config.MUSTER_DATA_DIR);
    return new SettingError(
      'MUSTER_SECRETS_KEY',
      `is not set, and the key in ${secretsKeyFile} did not seal the values of this database. ${rest} After an import: set MUSTER_SECRETS_KEY to the key of the other installation, or put its secrets-key file there.`,
    );
  }
  return new SettingError('MUSTER_SECRETS_KEY', `did not seal the values of this database. ${rest}`);
}
