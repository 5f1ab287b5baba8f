import type { LockedAction } from '@muster/contracts';
import type { Calls } from './calls.ts';
import type { Random } from './random.ts';
import type { Rhythm } from './rhythm.ts';

/** Agents of hosts: wait for actions on services, run them, report the outcome. */
export interface SimulatedHost {
  readonly id: string;
  readonly name: string;
  readonly token: string;
  readonly services: readonly string[];
  readonly away: boolean;
}

const WAIT_SECONDS = 25;
const MOST = 10;

export function liveAsHost({ as, client }: Calls, rhythm: Rhythm, random: Random, host: SimulatedHost): void {
  if (host.away) return;
  const call = as(host.token);

  async function work(action: LockedAction): Promise<void> {
    await rhythm.pause(random.between(2_000, 12_000));
    if (rhythm.isOver) return;
    const failed = random.percent(8);
    await client.control.report({
      ...call,
      body: {
        actionId: action.id,
        attempt: action.attempt,
        status: failed ? 'failed' : 'succeeded',
        exitCode: failed ? 1 : 0,
        ...(failed ? { message: `Job for ${action.service.unitName} failed.` } : {}),
        output: `systemctl ${action.kind} ${action.service.unitName}\n${failed ? 'See "journalctl -xe".' : 'done'}\n`,
      },
    });
  }

  rhythm.every(
    () => random.between(50, 1_500),
    async () => {
      const query = { max: MOST, wait: WAIT_SECONDS };
      const answer = await rhythm.waiting((signal) => client.control.poll({ ...call, query, signal }));
      if (answer.status === 204) return;
      // it polls on while it works: other services are other lanes
      for (const action of answer.body.actions) rhythm.after(0, () => work(action));
    },
  );
}
