import type { TargetCounts } from '../../fleet/index.ts';

/** How fast a batch may go on, and whether it must stop. Pure: counts in, decision out. */
export interface Pace {
  readonly ratePerMinute: number | null;
  readonly ramp: {
    readonly basePerMinute: number;
    readonly factor: number;
    readonly everySuccesses: number;
  } | null;
}
export interface AbortRule {
  readonly failurePercent: number;
  readonly minimumSample: number;
}

const FASTEST = 1_000_000;

/** Per minute; null: as fast as possible. */
export function paceOf({ ratePerMinute, ramp }: Pace, counts: Pick<TargetCounts, 'done'>): number | null {
  if (!ramp) return ratePerMinute;
  const steps = Math.floor(counts.done / ramp.everySuccesses);
  const ramped = Math.min(FASTEST, Math.floor(ramp.basePerMinute * ramp.factor ** steps));
  return Math.min(ramped, ratePerMinute ?? FASTEST);
}

/**
 * Judged by targets that ended by themselves: a cancelled or never delivered action says nothing about the action
 * itself.
 */
export function mustAbort(rule: AbortRule | null, counts: Pick<TargetCounts, 'done' | 'failed'>): boolean {
  const sample = counts.done + counts.failed;
  return rule !== null && sample >= rule.minimumSample && counts.failed * 100 >= rule.failurePercent * sample;
}
