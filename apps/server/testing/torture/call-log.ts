import { createWriteStream, type WriteStream } from 'node:fs';

/**
 * Every call of every client, with its start, its end and its answer; in memory for the checker and as JSON lines for people. One
 * counter numbers all of them: a call that ended before another began has the smaller number.
 */
export type Op = 'enqueue' | 'claim' | 'report' | 'extend' | 'release' | 'cancel';

export interface Call {
  readonly n: number;
  readonly client: string;
  readonly node: number;
  readonly op: Op;
  /** The action, if the call names one. */
  readonly id: string | null;
  readonly lane: string;
  body: Readonly<Record<string, unknown>>;
  readonly key: string | null;
  readonly begun: number;
  /** Null: still running. */
  ended: number | null;
  /** Null: the outcome is unknown; the call may have been carried out, and may still be. */
  status: number | null;
  answer: Readonly<Record<string, unknown>> | null;
  error: string | null;
}

export type NewCall = Pick<Call, 'client' | 'node' | 'op' | 'id' | 'lane' | 'body' | 'key'>;

export class CallLog {
  readonly calls: Call[] = [];
  readonly #file: WriteStream | null;
  readonly #waiting = new Set<{ left: number; isAnswered: boolean; done: () => void }>();
  #now = 0;

  constructor(file: string | null) {
    this.#file = file === null ? null : createWriteStream(file);
  }

  begin(call: NewCall): Call {
    const begun: Call = {
      n: this.calls.length + 1,
      ...call,
      begun: this.tick(),
      ended: null,
      status: null,
      answer: null,
      error: null,
    };
    this.calls.push(begun);
    this.note({ begin: begun.n, ...call, at: begun.begun });
    return begun;
  }

  end(call: Call, outcome: { status: number; answer: Record<string, unknown> } | { error: string }): Call {
    if ('error' in outcome) call.error = outcome.error;
    else [call.status, call.answer] = [outcome.status, outcome.answer];
    call.ended = this.tick();
    this.note({ end: call.n, ...outcome, at: call.ended });
    for (const one of this.#waiting) {
      if (one.isAnswered && call.status === null) continue;
      one.left -= 1;
      if (one.left > 0) continue;
      this.#waiting.delete(one);
      one.done();
    }
    return call;
  }

  /** A line between the calls: what the conductor did. */
  note(line: Record<string, unknown>): void {
    this.#file?.write(`${JSON.stringify(line)}\n`);
  }

  /** Resolves when this many more calls have ended, with any outcome. This is how the test measures time. */
  more(calls: number): Promise<void> {
    return new Promise((done) => this.#waiting.add({ left: calls, isAnswered: false, done }));
  }

  /** The same for answered calls: on a slow machine, a starting server leaves calls unanswered for long. */
  answered(calls: number): Promise<void> {
    return new Promise((done) => this.#waiting.add({ left: calls, isAnswered: true, done }));
  }

  async close(): Promise<void> {
    await new Promise<void>((closed) => (this.#file ? this.#file.end(closed) : closed()));
  }

  tick(): number {
    this.#now += 1;
    return this.#now;
  }
}
