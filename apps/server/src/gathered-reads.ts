/**
 * Gathers look-ups that come with every request into set-based statements: the first is sent at once, whoever comes
 * meanwhile goes into the next. For reads only: writes are gathered by the engine, which also retries them.
 */
interface Call<Item, Answer> {
  readonly item: Item;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

/** Larger statements are no faster per row, and everybody in them waits for all. */
const MOST_PER_STATEMENT = 500;

export function gatherReads<Item, Answer>(
  /** One answer per item, in their order. */
  read: (items: readonly Item[]) => Promise<readonly Answer[]>,
  inFlightAtOnce: number,
): (item: Item) => Promise<Answer> {
  let waiting: Call<Item, Answer>[] = [];
  let inFlight = 0;
  let scheduled = false;

  async function send(calls: readonly Call<Item, Answer>[]): Promise<void> {
    try {
      const answers = await read(calls.map(({ item }) => item));
      calls.forEach((call, n) => {
        call.resolve(answers[n] as Answer);
      });
    } catch (error) {
      for (const call of calls) call.reject(error);
    }
    inFlight -= 1;
    schedule();
  }

  function schedule(): void {
    if (scheduled || waiting.length === 0 || inFlight >= inFlightAtOnce) return;
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      while (waiting.length > 0 && inFlight < inFlightAtOnce) {
        const calls = waiting.slice(0, MOST_PER_STATEMENT);
        waiting = waiting.slice(MOST_PER_STATEMENT);
        inFlight += 1;
        void send(calls);
      }
    });
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      schedule();
    });
}
