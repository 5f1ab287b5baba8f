import type { Engine } from '@muster/engine';
import type { Log } from './logging.ts';

/**
 * Runs a duty as soon as it has work, until it finds no more, instead of waiting for housekeeping. A call while it runs
 * leads to one more round.
 */
export interface RunSoon {
  soon(): void;
  stop(): Promise<void>;
}

export function runSoon(engine: Engine, log: Log, duty: string): RunSoon {
  let running: Promise<void> | undefined;
  let again = false;
  let stopping = false;

  async function run(): Promise<void> {
    try {
      while (again && !stopping) {
        again = false;
        while (!stopping && (await engine.runDuty(duty)) > 0);
      }
    } catch (error) {
      log.warn({ err: error, duty }, 'A duty could not be run now; housekeeping will run it.');
    }
    running = undefined;
  }

  return {
    soon() {
      again = true;
      running ??= run();
    },
    async stop() {
      stopping = true;
      await running;
    },
  };
}
