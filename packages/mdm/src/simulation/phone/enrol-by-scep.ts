import { type CertificateWish, type TestCertificate, testCertificate } from '../certificates.ts';
import { type KeyPair, rsaKeys } from '../keys.ts';
import { readScepReply, scepRequest } from '../scep-client.ts';
import type { ReadProfile } from './read-profile.ts';
import { type Sent, send } from './send.ts';

/** Thrown with one of SCEP's five numbers, or the status. */
export class ScepRefused extends Error {}

let signer: Promise<TestCertificate> | null = null;

/** Asks the authority of a profile for a certificate; with a current one it is a renewal. */
export async function enrolByScep(
  { scep }: ReadProfile,
  keys: KeyPair,
  { tls, current }: { readonly tls?: NonNullable<Sent['tls']>; readonly current?: TestCertificate } = {},
): Promise<TestCertificate> {
  const ask = async (operation: string, body?: Buffer) => {
    const url = new URL(scep.url);
    url.searchParams.set('operation', operation);
    const more = body
      ? { method: 'POST' as const, body, headers: { 'content-type': 'application/x-pki-message' } }
      : {};
    const reply = await send({ url: url.href, ...more, ...(tls && { tls }) });
    if (reply.status !== 200) throw new ScepRefused(`${operation}: ${reply.status}`);
    return reply.body;
  };
  const capabilities = (await ask('GetCACaps')).toString().split(/\s+/);
  if (!capabilities.includes('POSTPKIOperation')) throw new ScepRefused('The server cannot be posted to.');
  // one for all simulated devices: it proves nothing and costs a key
  const wish: CertificateWish = { commonName: 'SCEP signer', keys: rsaKeys('scep signer') };
  signer ??= testCertificate(wish);
  const request = {
    ca: await ask('GetCACert'),
    subject: scep.subject,
    challenge: scep.challenge,
    keys,
    signer: current ?? (await signer),
    messageType: current ? '17' : '19',
  };
  const { message } = await scepRequest(request);
  const reply = await readScepReply(await ask('PKIOperation', message), request);
  if (!reply.ok) throw new ScepRefused(`failInfo ${reply.failInfo}`);
  return reply.identity;
}
