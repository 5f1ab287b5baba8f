/** Log lines for people at a terminal: time (UTC), level, what happened, and the details; the stack of an error below. */
const LEVELS: Readonly<Record<number, string>> = {
  10: 'trace',
  20: 'debug',
  30: 'info',
  40: 'warn',
  50: 'error',
  60: 'fatal',
};
const PLAIN = /^[\x21-\x7e]+$/;
// a name or an error of a client must not steer the terminal, nor look like a line of the log
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it takes away
const STEERING = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]|\p{Cf}/gu;

/** From a line of JSON, as the log writes it. */
export function textLine(json: string): string {
  const { err, hostname, level, msg, pid, time, ...more } = JSON.parse(json);
  const below = typeof err === 'string' ? err : err?.stack;
  if (err && !below) more.reason = err.message ?? String(err);
  const details = Object.entries(more).map(([name, value]) => `${name}=${shown(value)}`);
  const at = `${new Date(time).toISOString().slice(0, 19)}Z`;
  const line = [at, (LEVELS[level] ?? String(level)).padEnd(5), msg, ...details].join(' ');
  const text = [...line.split('\n'), ...(below?.split('\n') ?? [])].join('\n  ');
  return `${text.replace(STEERING, '?')}\n`;
}

const shown = (value: unknown) =>
  typeof value === 'string' && PLAIN.test(value) ? value : JSON.stringify(value);
