// Starts the load generator beside a server and waits for what it counted.

import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { busyCores, cpuTimes } from './cpu.mjs';

/**
 * @param {import('./load-generator.mjs').Load} load
 * @returns {Promise<{ value: number, p50: number, p99: number, busyCores: number }>}
 */
export function underLoad(load) {
  const generator = fork(fileURLToPath(new URL('./load-generator.mjs', import.meta.url)), { execArgv: [] });
  const before = cpuTimes();
  return new Promise((resolve, reject) => {
    generator.once('message', (/** @type {any} */ { result, error }) => {
      if (error) reject(new Error(error));
      else resolve({ ...result, busyCores: busyCores(before, cpuTimes()) });
    });
    generator.once('error', reject);
    generator.once('exit', (code) => reject(new Error(`The load generator ended with exit code ${code}.`)));
    generator.send(load);
  });
}
