import type { ServerResponse } from 'node:http';

/** A client that reads nothing for this long is cut off. */
const PATIENCE_MS = 60_000;

/** Resolves when a stream has room again. A stream whose client is gone or reads nothing is cut off. */
export async function drained(raw: ServerResponse, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(() => raw.destroy(), PATIENCE_MS);
    const done = () => {
      clearTimeout(timer);
      raw.removeListener('drain', done);
      raw.removeListener('close', done);
      signal.removeEventListener('abort', done);
      resolve();
    };
    raw.once('drain', done);
    raw.once('close', done);
    signal.addEventListener('abort', done, { once: true });
  });
}
