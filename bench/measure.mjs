// Measures rates and latencies. Closed loop: every caller waits for its answer before it calls again.

import { startUsage } from './cpu.mjs';

/** About the size of an ordinary action, 200 bytes. */
export const payload = {
  command: 'InstallProfile',
  profile: 'c0ffee00-5eed-4bad-8f00-d15ea5e0ba11',
  requestedBy: 'operator@example.org',
  note: 'x'.repeat(80),
};

/**
 * @param {object} on
 * @param {number} on.callers
 * @param {number} on.warmUpSeconds
 * @param {number} on.seconds
 * @param {(caller: number) => Promise<number | undefined>} on.call says how many operations it did (1); -1: nothing is left
 */
export async function rateOf({ callers, warmUpSeconds, seconds, call }) {
  let done = 0;
  let over = false;
  let dry = false;
  let counting = false;
  /** @type {number[]} */
  const latencies = [];
  const loops = Array.from({ length: callers }, async (_, caller) => {
    while (!over) {
      const began = performance.now();
      const operations = (await call(caller)) ?? 1;
      if (operations < 0) {
        dry = true;
        return;
      }
      if (!counting) continue;
      done += operations;
      latencies.push(performance.now() - began);
    }
  });
  // an error in a loop must end the run, not wait for its end
  const failed = Promise.all(loops);
  const until = async (/** @type {number} */ ms) => {
    const end = performance.now() + ms;
    while (performance.now() < end && !dry) await Promise.race([pause(20), failed]);
  };
  await until(warmUpSeconds * 1_000);
  if (dry) throw new Error('The work ran out during the warm-up.');
  counting = true;
  const usage = startUsage();
  const began = performance.now();
  await until(seconds * 1_000);
  const elapsed = (performance.now() - began) / 1_000;
  const rate = done / elapsed;
  const used = usage();
  over = true;
  await failed;
  return {
    value: rate,
    seconds: elapsed,
    p50: quantile(latencies, 0.5),
    p99: quantile(latencies, 0.99),
    ...used,
  };
}

/**
 * For work that finishes by itself in the background: the difference of `count()` between two moments.
 * @param {object} on
 * @param {number} on.warmUpSeconds
 * @param {number} on.seconds
 * @param {number} on.total the end of the work
 * @param {() => number} on.count
 */
export async function drainRate({ warmUpSeconds, seconds, total, count }) {
  const left = () => count() < total;
  const until = async (/** @type {number} */ ms) => {
    const end = performance.now() + ms;
    while (performance.now() < end && left()) await pause(5);
  };
  await until(warmUpSeconds * 1_000);
  if (!left()) throw new Error('The work ran out during the warm-up.');
  const first = count();
  const usage = startUsage();
  const began = performance.now();
  await until(seconds * 1_000);
  // a slow queue gets time for at least some jobs, so that its rate is not 0
  while (left() && count() === first && performance.now() - began < 30_000) await pause(5);
  const elapsed = (performance.now() - began) / 1_000;
  return { value: (count() - first) / elapsed, seconds: elapsed, ...usage() };
}

/** @param {number[]} values @param {number} q */
export function quantile(values, q) {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN;
}

/** Of latencies, of which the 99th percentile counts. @param {number[]} ms */
export function quantiles(ms) {
  const sorted = ms.toSorted((a, b) => a - b);
  const at = (/** @type {number} */ share) => sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
  return { value: at(0.99), p50: at(0.5), most: at(1), samples: sorted.length };
}

/** @param {number[]} values */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1
    ? Number(sorted[middle])
    : (Number(sorted[middle - 1]) + Number(sorted[middle])) / 2;
}

/** @param {number} ms */
export function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
