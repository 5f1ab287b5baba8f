import { type Database, whileLocked } from '@muster/engine';
import type { Config } from '../config.ts';
import { dataFolder, makeDataFolder, readSecretFile, writeSecretFile } from '../data-folder/data-folder.ts';
import { DEFAULT_TENANT } from '../tenants/default-tenant.ts';
import { newSecret } from './secret.ts';
import type { Tokens } from './tokens.ts';

/** The operator's access: by the setting, by the file of an earlier start, or by a token created now and shown once. */
export type OperatorToken =
  | { readonly from: 'setting' }
  | { readonly from: 'file'; readonly file: string }
  | { readonly from: 'new'; readonly file: string; readonly token: string }
  | { readonly from: 'issued' };

export async function ensureOperatorToken(
  config: Config,
  db: Database,
  tokens: Tokens,
): Promise<OperatorToken> {
  const setting = config.MUSTER_OPERATOR_TOKEN;
  if (setting !== null) {
    await whileLocked(db, (tx) => tokens.ensureAdmin(tx, DEFAULT_TENANT, setting, 'setting'));
    return { from: 'setting' };
  }
  await whileLocked(db, (tx) => tokens.endOrigin(tx, DEFAULT_TENANT, 'setting'));
  const { tokenFile: file } = dataFolder(config.MUSTER_DATA_DIR);
  const kept = readSecretFile(file, 'The operator token');
  if (kept !== null && (await tokens.isValid(db, DEFAULT_TENANT, kept))) return { from: 'file', file };
  if (await tokens.hasAdmin(db, DEFAULT_TENANT)) return { from: 'issued' };

  const token = newSecret('operator', DEFAULT_TENANT);
  makeDataFolder(config.MUSTER_DATA_DIR);
  // The file first: a token that is valid but lost would lock the operator out.
  writeSecretFile(file, token);
  await whileLocked(db, (tx) => tokens.ensureAdmin(tx, DEFAULT_TENANT, token, 'folder'));
  return { from: 'new', file, token };
}
