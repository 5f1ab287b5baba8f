import type { Told } from './messages.ts';

/**
 * One stream of hints. When lost, it is reopened after 1, 2, 4 … 15 s with some jitter, after the last event it saw. EventSource's
 * own reconnect gives up at the first answer that is not 200, and a restarting server gives many of those.
 */
const LONGEST_MS = 15_000;

export function openStream(tenant: string, tell: (told: Told) => void): () => void {
  let source: EventSource | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let cursor: string | undefined;
  let tries = 0;

  function open() {
    const query = new URLSearchParams({ tenant, ...(cursor === undefined ? {} : { cursor }) });
    source = new EventSource(`/api/live?${query}`);
    const on = (name: string, take: (data: string) => void) =>
      source?.addEventListener(name, (event: MessageEvent<string>) => {
        if (event.lastEventId) cursor = event.lastEventId;
        take(event.data);
      });
    source.onopen = () => {
      tries = 0;
      tell({ type: 'open' });
    };
    source.onerror = lost;
    on('tick', (data) => tell({ type: 'tick', tick: JSON.parse(data) }));
    on('changed', (data) => tell({ type: 'changed', changed: JSON.parse(data) }));
    on('many', () => tell({ type: 'many' }));
    on('resync', () => {
      cursor = undefined;
      tell({ type: 'many' });
    });
  }
  function lost() {
    source?.close();
    tell({ type: 'lost' });
    const wait = Math.min(LONGEST_MS, 1_000 * 2 ** tries) * (0.75 + Math.random() / 2);
    tries += 1;
    timer = setTimeout(open, wait);
  }
  open();
  return () => {
    clearTimeout(timer);
    source?.close();
  };
}
