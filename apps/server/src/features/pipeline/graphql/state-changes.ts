import type { EventStream } from '../../../events/event-stream.ts';
import { NOTE, type StateNote } from '../state-note.ts';

/**
 * Changes of devices from now on, from the event feed. It ends by its reader (`return`) or the signal, even while it
 * waits for an event: a plain generator would notice only with the next event.
 */
export function stateChanges(
  stream: EventStream,
  { signal, ...from }: { tenantId: number; cursor: string; signal: AbortSignal | null },
  deviceId: string | null,
  onEnd: () => void,
): AsyncIterableIterator<{ deviceStateChanged: StateNote }> {
  const ended = new AbortController();
  async function* read() {
    try {
      for await (const page of stream.follow({ ...from, signal: ended.signal }))
        for (const event of page.events) {
          if (event.type !== 'NOTED' || event.reason !== NOTE) continue;
          const note = event.note as StateNote;
          if (deviceId === null || note.deviceId === deviceId) yield { deviceStateChanged: note };
        }
    } finally {
      onEnd();
    }
  }
  const inner = read();
  let isBegun = false;
  const stop = () => {
    ended.abort();
    if (!isBegun) onEnd(); // a generator that was never started has nothing to end
    isBegun = true;
  };
  if (signal?.aborted) stop();
  else signal?.addEventListener('abort', stop, { once: true });
  return {
    next() {
      isBegun = true;
      return inner.next();
    },
    return() {
      stop();
      return inner.return(undefined) as Promise<IteratorResult<{ deviceStateChanged: StateNote }>>;
    },
    throw(error) {
      stop();
      return inner.throw(error);
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
