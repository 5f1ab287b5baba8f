/** Ctrl-C reaches this process from the terminal and, under npm, again from npm: both are one key press. */
const ONE_KEY_PRESS_MS = 500;

/** Ends with 0 once everything that was started has stopped; a second signal ends the process at once. */
export function stopOnSignal(starting: Promise<unknown>, stop: () => Promise<void>): void {
  let stoppingSince: number | undefined;
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.on(signal, () => {
      const now = performance.now();
      if (stoppingSince !== undefined) {
        if (now - stoppingSince > ONE_KEY_PRESS_MS) process.exit(130);
        return;
      }
      stoppingSince = now;
      void starting.then(async () => {
        await stop();
        process.exit(0);
      });
    });
}
