import { randomBytes } from 'node:crypto';
import { mkdir, open, readFile } from 'node:fs/promises';
import path from 'node:path';
import type { HostEnrolment, HostWithToken } from '@muster/contracts';
import { refusal } from './requests.ts';

/**
 * A host registers itself with an enrolment token and keeps the token it gets. The secret it makes up first, and keeps
 * too, lets it ask again as the same host if the answer is lost.
 */
export async function enrol(options: {
  readonly server: string;
  readonly enrolmentToken: string;
  readonly name: string;
  readonly folder: string;
  readonly tokenFile: string;
}): Promise<{ id: string; name: string }> {
  await mkdir(options.folder, { recursive: true, mode: 0o700 });
  const secret = await keptSecret(path.join(options.folder, 'enrolment-secret'));
  const response = await fetch(`${options.server.replace(/\/+$/, '')}/api/hosts/enrol`, {
    method: 'POST',
    headers: { authorization: `Bearer ${options.enrolmentToken}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: options.name, secret } satisfies HostEnrolment),
    redirect: 'error',
    signal: AbortSignal.timeout(30_000),
  });
  if (!response.ok) throw await refusal(response);
  const { id, name, agentToken } = (await response.json()) as HostWithToken;
  await writeSynced(options.tokenFile, `${agentToken}\n`);
  return { id, name };
}

async function keptSecret(file: string): Promise<string> {
  const kept = await readFile(file, 'utf8').catch(() => '');
  if (kept.length >= 32) return kept; // a crash may have left an empty file
  const secret = randomBytes(32).toString('base64url');
  await writeSynced(file, secret);
  return secret;
}

async function writeSynced(file: string, text: string): Promise<void> {
  const handle = await open(file, 'w', 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
}
