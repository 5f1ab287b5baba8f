import { type After, after } from '../background/after.ts';

/** A slow start reports what it is doing: its present step after two seconds, and every further step. */
const LONG_MS = 2_000;

export function startProgress(say: (sentence: string) => void, later: After = after) {
  let doing: string | undefined;
  let isLong = false;
  const tell = () => {
    if (doing !== undefined) say(`Starting: ${doing} …`);
  };
  const stop = later(LONG_MS, () => {
    isLong = true;
    tell();
  });
  return {
    step(what: string): void {
      doing = what;
      if (isLong) tell();
    },
    /** It has started, or failed. */
    end: stop,
  };
}
