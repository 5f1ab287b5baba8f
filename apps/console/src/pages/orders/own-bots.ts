/**
 * The bots that were added in this browser: it claims for them. Other bots are programs with a token of their own, and opening
 * the board must not take their orders.
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
    // storage is full or forbidden: it counts as one of the others
  }
}
