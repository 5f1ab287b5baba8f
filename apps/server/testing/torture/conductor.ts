import { setTimeout as pause } from 'node:timers/promises';
import type { CallLog } from './call-log.ts';
import type { Random } from './random.ts';
import type { Act, ActTools } from './stage.ts';

/**
 * Disturbs the installation at random moments, measured in calls and not in time. The acts come in shuffled packs, so a run with as
 * many disturbances as there are acts has every one of them.
 */
const LONGEST_DELAY_MS = 25;

export async function conduct(options: {
  acts: Readonly<Record<string, Act>>;
  random: Random;
  tools: Omit<ActTools, 'random' | 'later' | 'log'>;
  log: CallLog;
  disturbances: number;
  callsBetween: number;
}): Promise<Map<string, number>> {
  const { acts, random, log, callsBetween, tools } = options;
  const done = new Map<string, number>();
  let pack: string[] = [];
  for (let n = 0; n < options.disturbances; n += 1) {
    await log.answered(random.int(1, callsBetween * 2));
    await pause(random.int(0, LONGEST_DELAY_MS));
    if (pack.length === 0) pack = random.shuffle(Object.keys(acts));
    const name = pack.pop() as string;
    log.note({ disturbance: name });
    await (acts[name] as Act)({ ...tools, log, random, later: (calls) => log.more(calls) });
    log.note({ over: name });
    done.set(name, (done.get(name) ?? 0) + 1);
  }
  await log.answered(callsBetween);
  return done;
}
