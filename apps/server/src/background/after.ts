/** Calls back after this time, unless the returned function is called before. A parameter, so that tests own the time. */
export type After = (ms: number, then: () => void) => () => void;

export const after: After = (ms, then) => {
  const timer = setTimeout(then, ms);
  return () => clearTimeout(timer);
};
