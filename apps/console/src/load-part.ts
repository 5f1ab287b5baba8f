/**
 * Loads a part of the console. If the server is away, the shown page stays and the part is loaded when the server is back; the
 * router alone would reload and show the browser's own error page instead of the board. A part that the server no longer has,
 * after an upgrade, is left to the router to reload.
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
