import type { FindProblems } from '../../../problems/problems.ts';
import type { Providers } from './providers.ts';
import type { Topics } from './topics.ts';

/** What keeps phones from being woken up, now or soon. A tenant has few topics. */
const TOLD_BEFORE_MS = 30 * 86_400_000;

export function createPushProblems(providers: Providers, topics: Topics, now: () => Date): FindProblems {
  return async (client, tenantId) => {
    const all = await topics.ofTenant(client, tenantId);
    const stopped = all.filter(({ stopReason }) => stopReason !== null);
    const ending = all
      .map(({ topic, ...rest }) => ({ topic, notAfter: providers.notAfter({ topic, ...rest }) }))
      .filter(({ notAfter }) => notAfter && notAfter.getTime() - now().getTime() < TOLD_BEFORE_MS)
      .toSorted((a, b) => Number(a.notAfter) - Number(b.notAfter));
    const [halted] = stopped;
    const [first] = ending;
    return [
      ...(halted
        ? [
            {
              code: 'PUSHES_STOPPED' as const,
              count: stopped.length,
              since: null,
              text: `${halted.topic}: ${halted.stopReason}`,
              example: { type: 'topic', id: halted.topic, error: String(halted.stopReason) },
            },
          ]
        : []),
      ...(first?.notAfter
        ? [
            {
              code: 'PUSH_CERTIFICATES_END' as const,
              count: ending.length,
              since: null,
              text: `${first.topic}: ${first.notAfter > now() ? 'ends' : 'has ended'} at ${first.notAfter.toISOString()}`,
              example: { type: 'topic', id: first.topic },
            },
          ]
        : []),
    ];
  };
}
