import path from 'node:path';
import type { HostEnrolment, HostWithToken } from '@muster/contracts';
import { keptRandom, writeSynced } from './kept-text.ts';
import { refusal, sentenceOf } from './requests.ts';

/**
 * A host registers itself with an enrolment token and keeps the token it gets. It first generates and keeps a secret,
 * with which it can ask again as the same host if the answer is lost.
 */
export async function enrol(options: {
  readonly server: string;
  readonly enrolmentToken: string;
  readonly name: string;
  readonly folder: string;
  readonly tokenFile: string;
}): Promise<{ id: string; name: string }> {
  const secret = await keptRandom(path.join(options.folder, 'enrolment-secret'), 'base64url');
  const response = await fetch(`${options.server.replace(/\/+$/, '')}/api/hosts/enrol`, {
    method: 'POST',
    headers: { authorization: `Bearer ${options.enrolmentToken}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: options.name, secret } satisfies HostEnrolment),
    redirect: 'error',
    signal: AbortSignal.timeout(30_000),
  }).catch((error) => {
    throw new Error(`The server does not answer: ${sentenceOf(error)}`);
  });
  if (!response.ok) throw await refusal(response);
  const { id, name, agentToken } = (await response.json()) as HostWithToken;
  await writeSynced(options.tokenFile, `${agentToken}\n`);
  return { id, name };
}
