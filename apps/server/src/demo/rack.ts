import type { ClaimedDevice } from '@muster/contracts';
import type { Calls } from './calls.ts';
import type { Random } from './random.ts';
import type { Rhythm } from './rhythm.ts';

/** A PC with devices on cables: keeps its slots full, and its runner may die and come back. */
export interface SimulatedRack {
  readonly id: string;
  readonly name: string;
  readonly token: string;
}

export interface RackRunner {
  /** Does all available work at once, for the simulated past. Returns how many devices. */
  work(): Promise<number>;
  live(): void;
  /** Is silent for this long, whatever it holds; then asks what that was, and starts it again. */
  die(forMs: number): void;
  /** These fail from now on, with this error. */
  breakDevices(ids: readonly string[], error: string): void;
}

const TAKES_MS = [30_000, 75_000] as const;
const ASKS_EVERY_MS = [4_000, 6_000] as const;

export function createRunner(
  { as, client }: Calls,
  rhythm: Rhythm,
  random: Random,
  rack: SimulatedRack,
): RackRunner {
  const broken = new Map<string, string>();
  const params = { id: rack.id };
  const call = as(rack.token);
  let deadUntil = 0;
  const isDead = () => performance.now() < deadUntil;

  const claim = async () => (await client.runners.claim({ ...call, params, body: {} })).body.taskDevices;

  async function report(held: ClaimedDevice, takeMore: boolean): Promise<readonly ClaimedDevice[]> {
    const { attempt, id } = held;
    const error = broken.get(held.deviceId) ?? (random.percent(2) ? 'lost the cable while copying' : null);
    const body = { attempt, ...(takeMore ? { claim: {} } : {}) };
    const said = { ...call, params: { id } };
    const answer =
      error === null
        ? await client.runners.complete({ ...said, body: { ...body, result: { ok: true } } })
        : await client.runners.fail({ ...said, body: { ...body, error } });
    return answer.body.taskDevices ?? [];
  }

  function begin(held: readonly ClaimedDevice[]): void {
    for (const one of held)
      rhythm.after(random.between(...TAKES_MS), async () => {
        if (isDead()) return;
        begin(await report(one, true));
      });
  }

  return {
    async work() {
      const held = await claim();
      await Promise.all(held.map((one) => report(one, false)));
      return held.length;
    },
    live() {
      rhythm.every(
        () => random.between(...ASKS_EVERY_MS),
        async () => {
          if (!isDead()) begin(await claim());
        },
      );
    },
    die(forMs) {
      deadUntil = performance.now() + forMs;
      rhythm.after(forMs, async () =>
        begin((await client.runners.running({ ...call, params })).body.taskDevices),
      );
    },
    breakDevices(ids, error) {
      for (const id of ids) broken.set(id, error);
    },
  };
}
