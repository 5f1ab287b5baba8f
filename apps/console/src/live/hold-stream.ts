import type { Told, Wanted } from './messages.ts';
import { openStream } from './stream.ts';

/** The stream of this browser, from the shared worker or, without one, from this tab. Closed while no tab is visible. */
export interface Held {
  want(wanted: boolean): void;
}

export function holdStream(tenant: string, tell: (told: Told) => void): Held {
  const shared = sharedWorker();
  if (shared) {
    const { port } = shared;
    port.onmessage = ({ data }: MessageEvent<Told>) => tell(data);
    const want = (wanted: boolean) => port.postMessage({ tenant, wanted } satisfies Wanted);
    addEventListener('pagehide', () => want(false));
    return { want };
  }
  let close: (() => void) | undefined;
  return {
    want(wanted) {
      if (wanted) close ??= openStream(tenant, tell);
      else {
        close?.();
        close = undefined;
      }
    },
  };
}

function sharedWorker(): SharedWorker | undefined {
  if (typeof SharedWorker === 'undefined') return undefined;
  try {
    return new SharedWorker(new URL('./stream-worker.ts', import.meta.url), {
      type: 'module',
      name: 'muster-live',
    });
  } catch {
    return undefined;
  }
}
