/**
 * A runner as it should be written: keeps its slots full, runs no attempt twice, asks what it holds after every request without an
 * answer, and repeats a report until it is answered.
 */
export interface RunnerClient {
  readonly pcId: string;
  readonly token: string;
  readonly slots: number;
}

export interface Work {
  readonly id: string;
  readonly taskId: string;
  readonly deviceId: string;
  readonly attempt: number;
}

export interface RunnerHouse {
  /** Throws if there is no answer. */
  // biome-ignore lint/suspicious/noExplicitAny: whatever came
  ask(method: string, path: string, body: object | undefined, token: string): Promise<any>;
  /** Called after an error: the server may have to be started again. */
  untilThere(): Promise<void>;
  isOver(): boolean;
  /** Runs the attempt; true: it succeeded. */
  run(work: Work): boolean;
  onMostHeld(pcId: string, held: number): void;
  onReported(work: Work, answer: { accepted: boolean; status: string }): void;
}

export async function runRunner(client: RunnerClient, house: RunnerHouse): Promise<void> {
  const { pcId, token } = client;
  const outcomes = new Map<string, boolean>();
  const held = new Map<string, Work>();
  /** Reports without an answer yet. */
  const unheard = new Map<string, Work>();
  let mustResync = true;

  const take = (works: readonly Work[]) => {
    for (const work of works) held.set(work.id, work);
    house.onMostHeld(pcId, held.size);
  };

  /** An attempt runs once, however often its report is sent. */
  function outcomeOf(work: Work): boolean {
    const key = `${work.id}:${work.attempt}`;
    const known = outcomes.get(key);
    if (known !== undefined) return known;
    const outcome = house.run(work);
    outcomes.set(key, outcome);
    return outcome;
  }

  async function report(work: Work): Promise<void> {
    const ok = outcomeOf(work);
    unheard.set(work.id, work);
    const answer = await house.ask(
      'POST',
      `/api/task-devices/${work.id}/${ok ? 'complete' : 'fail'}`,
      { attempt: work.attempt, ...(ok ? { result: { ok } } : { error: 'no luck' }), claim: { max: 100 } },
      token,
    );
    unheard.delete(work.id);
    held.delete(work.id);
    house.onReported(work, answer);
    take(answer.taskDevices);
  }

  while (!house.isOver() || unheard.size > 0) {
    try {
      if (mustResync) {
        held.clear();
        for (const work of [...unheard.values()]) await report(work);
        take((await house.ask('GET', `/api/pcs/${pcId}/running`, undefined, token)).taskDevices);
        mustResync = false;
      }
      if (held.size === 0)
        take((await house.ask('POST', `/api/pcs/${pcId}/claim`, { wait: 1 }, token)).taskDevices);
      for (const work of [...held.values()]) await report(work);
    } catch {
      mustResync = true;
      await house.untilThere();
    }
  }
}
