import { DOOR_STATES } from '@muster/contracts/words';

const UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
] as const;

/** `6 h 12 min`: the two largest units. */
export function duration(ms: number): string {
  let rest = Math.max(0, Math.round(ms / 1000));
  const parts: string[] = [];
  for (const [unit, seconds] of UNITS) {
    const count = Math.floor(rest / seconds);
    rest -= count * seconds;
    if (count > 0) parts.push(`${count} ${unit}`);
    else if (parts.length > 0) break;
    if (parts.length === 2) break;
  }
  return parts.join(' ') || '0 s';
}

export function ago(time: string | null | undefined, now: Date): string | null {
  if (!time) return null;
  const ms = now.getTime() - Date.parse(time);
  return ms < 0 ? `in ${duration(-ms)}` : `${duration(ms)} ago`;
}

/** A state as people read it, whichever door it comes from: as in the console, `claimed` is "running". */
export function stateWord(said: string): string {
  const state = said in DOOR_STATES ? DOOR_STATES[said as keyof typeof DOOR_STATES] : said;
  return state === 'claimed' ? 'running' : state;
}

const TIME = /(\d{4}-\d\d-\d\d)T(\d\d:\d\d):\d\d(?:\.\d+)?Z/g;

/** `tablet 1 (device 7)`: a name may end with a number of its own. */
export const called = (name: string, what: string, id: string) => `${name} (${what} ${id})`;

/** Why it has not run yet, or how it ended, in one line. Its times are shown as ages, like those beside it. */
export function why(
  action: {
    readonly waitingFor: { readonly code: string; readonly text: string } | null;
    readonly reason?: string | undefined;
    readonly error?: string | undefined;
    readonly worker?: string | undefined;
    readonly workerName?: string | undefined;
  },
  now: Date,
): string {
  if (action.waitingFor) {
    const { code, text } = action.waitingFor;
    const { worker, workerName = worker } = action;
    const named = text.replace(` ${worker} `, () => ` ${workerName} `);
    return `${code}: ${named.replaceAll(TIME, (time, day, minute) => `${day} ${minute} UTC (${ago(time, now)})`)}`;
  }
  return [action.reason, action.error].filter(Boolean).join(': ') || '-';
}
