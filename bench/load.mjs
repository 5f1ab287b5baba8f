// Starts a load generator beside a server and waits for its counts.

import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { startUsage } from './cpu.mjs';

/**
 * A server is warmed up for longer than the engine alone: after two seconds it still compiled.
 * @typedef {{ httpWarmUpSeconds: number }} WarmUp
 * @typedef {Omit<import('./load-generator.mjs').Load, 'warmUpSeconds'> & WarmUp} Load
 * @typedef {Omit<import('./checkin-generator.mjs').Crowd, 'warmUpSeconds'> & WarmUp} Crowd
 * @typedef {Omit<import('./phone-generator.mjs').Phones, 'warmUpSeconds'> & WarmUp} Phones
 * @typedef {{ value: number, p50: number, p99: number, busyCores: number, nodeCores: number }} Counts
 */

/** @param {Load} load @param {() => void} [counting] called when the warm-up is over */
export const underLoad = (load, counting) => driven('load-generator.mjs', load, counting);
export const checkIns = (/** @type {Crowd} */ crowd) => driven('checkin-generator.mjs', crowd);
export const phoneCycles = (/** @type {Phones} */ crowd) => driven('phone-generator.mjs', crowd);

/**
 * @param {string} file of the generator
 * @param {WarmUp & Record<string, any>} work
 * @param {() => void} [onCounting]
 * @returns {Promise<Counts>}
 */
function driven(file, work, onCounting = () => {}) {
  const generator = fork(fileURLToPath(new URL(`./${file}`, import.meta.url)), { execArgv: [] });
  let usage = startUsage();
  return new Promise((resolve, reject) => {
    generator.on('message', (/** @type {any} */ { counting, result, error }) => {
      if (counting) {
        usage = startUsage();
        onCounting();
      } else if (error) reject(new Error(error));
      else resolve({ ...result, ...usage() });
    });
    generator.once('error', reject);
    generator.once('exit', (code) => reject(new Error(`${file} ended with exit code ${code}.`)));
    generator.send({ ...work, warmUpSeconds: work.httpWarmUpSeconds });
  });
}
