import { laneBusy } from './errors.ts';
import { MOST_BYTES_PER_STATEMENT, MOST_PER_STATEMENT, tenantOf } from './gatherer.ts';
import { BUSY, type Busy, type Operation, type Run } from './operation.ts';

/**
 * An operation over many items of one caller: nothing is gathered, equal keys are kept apart, BUSY items are tried
 * again. In the caller's own transaction only a few times and within milliseconds, because the caller holds a
 * connection, and perhaps locks that others wait for. It gets an error, gives both up and begins anew (`whileLocked`).
 */
const PAUSES_INSIDE_MS = [0, 1, 4, 16];
const LONGEST_PAUSE_MS = 100;

export async function runDirectly<Item, Answer>(
  operation: Operation<Item, Answer>,
  items: readonly Item[],
  run: (items: readonly Item[]) => Promise<Run<Answer | Busy>>,
  /** Null: inside a transaction. Otherwise each statement is its own, and nothing is held between them. */
  deadlineMs: number | null,
  /** Each run is of one tenant: the database is distributed. */
  isOfOneTenant = false,
): Promise<Answer[]> {
  const answers: (Answer | undefined)[] = items.map(() => undefined);
  const until = performance.now() + (deadlineMs ?? 0);
  let open = items.map((item, at) => ({ item, at }));
  for (let inVain = 0; open.length > 0; ) {
    const { now, later } = split(operation, open, isOfOneTenant);
    const result = await run(now.map(({ item }) => item));
    const busy: typeof open = [];
    result.answers.forEach((answer, n) => {
      const entry = now[n] as (typeof open)[number];
      if (answer === BUSY) busy.push(entry);
      else answers[entry.at] = answer as Answer;
    });
    open = [...busy, ...later];
    if (busy.length < now.length) {
      inVain = 0;
      continue;
    }
    const pauseMs = deadlineMs === null ? PAUSES_INSIDE_MS[inVain] : Math.min(2 ** inVain, LONGEST_PAUSE_MS);
    if (pauseMs === undefined || (deadlineMs !== null && performance.now() + pauseMs > until))
      throw laneBusy();
    if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
    inVain += 1;
  }
  return answers as Answer[];
}

/** The oldest items that may share a statement. */
function split<Entry extends { readonly item: Item }, Item>(
  operation: Pick<Operation<Item, unknown>, 'key' | 'line' | 'bytes'>,
  open: readonly Entry[],
  isOfOneTenant: boolean,
): { now: Entry[]; later: Entry[] } {
  const keys = new Set<string>();
  const lines = new Set<string>();
  // without any key no line keeps anything apart
  const isKeyed = open.some(({ item }) => operation.key(item) !== null);
  const now: Entry[] = [];
  const later: Entry[] = [];
  let bytes = 0;
  let isFull = false;
  const tenant = isOfOneTenant && open[0] ? tenantOf(open[0].item) : null;
  for (const entry of open) {
    if (tenant !== null && tenantOf(entry.item) !== tenant) {
      later.push(entry);
      continue;
    }
    const key = operation.key(entry.item);
    const line = isKeyed ? (operation.line?.(entry.item) ?? null) : null;
    const size = operation.bytes?.(entry.item) ?? 0;
    // from the first item that does not fit on, to keep the order
    isFull ||=
      now.length >= MOST_PER_STATEMENT || (now.length > 0 && bytes + size > MOST_BYTES_PER_STATEMENT);
    const isTaken = key !== null && (keys.has(key) || lines.has(key));
    const waits = isFull || isTaken || (line !== null && keys.has(line));
    (waits ? later : now).push(entry);
    // one that waits for its line lets nothing behind it pass
    if (key !== null && (!waits || key === line)) keys.add(key);
    if (waits) continue;
    if (line !== null) lines.add(line);
    bytes += size;
  }
  return { now, later };
}
