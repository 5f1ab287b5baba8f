import type { Database } from '@muster/engine';
import { type Asked, answerScep, commonNameOf, type ScepAnswer, type ScepRequest } from '@muster/mdm';
import { SignInFailures } from '../../http/sign-in-failures.ts';
import type { OwnAuthority } from './authority.ts';
import type { Enrolments } from './enrolments.ts';
import { mdmError } from './errors.ts';

/** The certificate of a phone is renewed by its profile; ten years are longer than a phone lives. */
const DAYS = 3_650;
/**
 * A request costs 15 to 20 ms of CPU before it is found invalid: this many invalid ones are answered per address and
 * minute.
 */
const WRONG_PER_MINUTE = 60;

/**
 * Certificates for phones, from our own authority. Only refused requests count against the limit; a valid challenge is
 * always answered.
 */
export function createScep(
  db: Database,
  tools: { authority: OwnAuthority; enrolments: Enrolments; now: () => Date },
) {
  const { authority, enrolments, now } = tools;
  const failures = new SignInFailures(WRONG_PER_MINUTE, () => now().getTime());
  const nameOf = ({ subject }: Asked) => commonNameOf(subject) ?? '';

  return async (request: ScepRequest, ip: string): Promise<ScepAnswer> => {
    const costs = request.operation === 'PKIOperation';
    const waitSeconds = costs ? failures.left(ip) : 0;
    if (waitSeconds > 0)
      throw mdmError(
        'MUSTER_SCEP_TOO_MANY',
        'Too many requests from this address were refused. Try again later.',
        {
          retryAfter: waitSeconds,
        },
      );
    const server = {
      authority: await authority.get(),
      days: DAYS,
      checkChallenge: (challenge: string, asked: Asked) =>
        enrolments.useChallenge(db, nameOf(asked), challenge, asked.keyHash),
      checkRenewal: (hash: string, asked: Asked) => enrolments.mayRenew(db, nameOf(asked), hash),
    };
    const answer = await answerScep(server, request, now());
    if (costs && answer.refusal) failures.count(ip);
    return answer;
  };
}

export type Scep = ReturnType<typeof createScep>;
