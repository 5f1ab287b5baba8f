/** Time for tests: it moves only when told to. */
export interface TestClock {
  (): Date;
  advance(ms: number): Date;
  advanceTo(at: Date): Date;
}

export function testClock(start = '2026-03-01T12:00:00.000Z'): TestClock {
  let now = new Date(start).getTime();
  const clock = () => new Date(now);
  clock.advance = (ms: number) => {
    now += ms;
    return new Date(now);
  };
  clock.advanceTo = (at: Date) => {
    now = at.getTime();
    return new Date(now);
  };
  return clock;
}
