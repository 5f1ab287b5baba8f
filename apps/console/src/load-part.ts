/**
 * A part of the console that could not be loaded because the server is away: the page that is shown stays, and the part is loaded
 * when the server is back. The router would reload instead, and whoever was looking at the board would see the browser's own page.
 * A part that the server no longer has, after an upgrade, is the router's to reload.
 */
const AGAIN_MS = 2_000;

let waiting: Promise<void> | undefined;

export const loading =
  <Part>(load: () => Promise<Part>) =>
  async (): Promise<Part> => {
    try {
      return await load();
    } catch (error) {
      if (await isThere()) throw error;
      waiting ??= untilThere().finally(() => {
        waiting = undefined;
      });
      await waiting;
      return load();
    }
  };

async function untilThere(): Promise<void> {
  do await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  while (!(await isThere()));
}

async function isThere(): Promise<boolean> {
  try {
    return (await fetch('/healthz')).ok;
  } catch {
    return false;
  }
}
