// Starts the load generator beside a server and waits for its counts.

import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { startUsage } from './cpu.mjs';

/**
 * @param {import('./load-generator.mjs').Load} load
 * @returns {Promise<{ value: number, p50: number, p99: number, busyCores: number, nodeCores: number }>}
 */
export function underLoad(load) {
  const generator = fork(fileURLToPath(new URL('./load-generator.mjs', import.meta.url)), { execArgv: [] });
  let usage = startUsage();
  return new Promise((resolve, reject) => {
    generator.on('message', (/** @type {any} */ { counting, result, error }) => {
      if (counting) usage = startUsage();
      else if (error) reject(new Error(error));
      else resolve({ ...result, ...usage() });
    });
    generator.once('error', reject);
    generator.once('exit', (code) => reject(new Error(`The load generator ended with exit code ${code}.`)));
    generator.send(load);
  });
}
