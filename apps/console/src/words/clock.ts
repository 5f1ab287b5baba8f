import { useSyncExternalStore } from 'react';

/**
 * The server's clock, and the one timer of the page. Leases end by the server's time: on a laptop whose clock is a minute off, they
 * would look over. Nothing ticks in a hidden tab.
 */
let ahead = 0;
let now = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;
const watching = new Set<() => void>();

export function serverNow(): number {
  return Date.now() + ahead;
}

/** The answer with the server's time took a moment: half of that was the way back. */
export function heardTime(serverTime: string, askedAt: number): void {
  const arrived = Date.now();
  ahead = Date.parse(serverTime) + (arrived - askedAt) / 2 - arrived;
  tick();
}

function tick() {
  now = serverNow();
  for (const tell of watching) tell();
}

function watch(tell: () => void) {
  watching.add(tell);
  timer ??= setInterval(() => {
    if (!document.hidden) tick();
  }, 1_000);
  return () => {
    watching.delete(tell);
    if (watching.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** The server's time, once a second. */
export function useNow(): number {
  return useSyncExternalStore(watch, () => now);
}
