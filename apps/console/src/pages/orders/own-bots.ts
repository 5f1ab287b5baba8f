/**
 * The bots that were added from the board of this browser: for them it claims. The others are programs with a token of their own,
 * and whoever only looks must not take their orders.
 */
const key = (tenant: string) => `muster-orders-bots-${tenant}`;
const MOST = 200;

export function ownBots(tenant: string): ReadonlySet<string> {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(key(tenant)) ?? '[]');
    return new Set(Array.isArray(kept) ? kept.map(String) : []);
  } catch {
    return new Set();
  }
}

export function ownBot(tenant: string, id: string): void {
  try {
    localStorage.setItem(key(tenant), JSON.stringify([...ownBots(tenant), id].slice(-MOST)));
  } catch {
    // full or forbidden: then it is one of the others
  }
}
