import type { ActionEvent } from '@muster/contracts';

/** The history of an action by attempt, newest first; events before the first hand-out are attempt 0. */
export interface Attempt {
  readonly attempt: number;
  readonly events: readonly ActionEvent[];
  readonly from: string;
  readonly to: string | undefined;
  readonly worker: string | undefined;
  /** How it ended, if it has. */
  readonly ending: ActionEvent | undefined;
}

const ENDINGS = new Set([
  'SUCCEEDED',
  'FAILED',
  'TIMEOUT',
  'NOT_NOW',
  'RELEASED',
  'CANCELLED',
  'EXPIRED',
  'FAILED_FINAL',
  'SUPERSEDED',
]);

export function attemptsOf(events: readonly ActionEvent[]): Attempt[] {
  const numbers = [...new Set(events.map((event) => event.attempt))].sort((a, b) => b - a);
  return numbers.map((attempt) => {
    const own = events.filter((event) => event.attempt === attempt);
    const sent = own.find((event) => event.type === 'SENT');
    const ending = own.find((event) => ENDINGS.has(event.type));
    return {
      attempt,
      events: own,
      from: (sent ?? own[0])?.at ?? '',
      to: ending?.at,
      worker: nameOf(own.find((event) => event.worker !== undefined)),
      ending,
    };
  });
}

const nameOf = (event: ActionEvent | undefined) => event?.workerName ?? event?.worker;
