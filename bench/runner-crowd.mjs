// Runners of many PCs in a separate process, so that they take no time from the server. This file is both ends:
// imported, it starts the process; started by fork(), it is the process.

import { fork } from 'node:child_process';
import { Agent, request } from 'node:http';
import { fileURLToPath } from 'node:url';
import { pause, quantile, rateOf } from './measure.mjs';

/**
 * @typedef {{ id: string, token: string }} Pc
 * @typedef {{ port: number, pcs: Pc[] }} Server
 * @typedef {{ refill: { samples: number, atOnce: number } } | { drain: { callers: number, warmUpSeconds: number, seconds: number } }} Work
 */

/** @param {Server & Work} order @returns {Promise<{ value: number } & Record<string, number>>} */
export function runners(order) {
  const child = fork(fileURLToPath(import.meta.url), { execArgv: [] });
  return new Promise((resolve, reject) => {
    child.once('message', (/** @type {any} */ { result, error }) => {
      child.disconnect();
      if (error) reject(new Error(error));
      else resolve(result);
    });
    child.once('exit', (code) => reject(new Error(`The runners ended with exit code ${code}.`)));
    child.send(order);
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.once('message', (/** @type {any} */ order) => {
    (order.refill ? refill(order) : drain(order)).then(
      (result) => process.send?.({ result }),
      (error) => process.send?.({ error: String(error?.stack ?? error) }),
    );
  });
  process.on('disconnect', () => process.exit(0));
}

/** Not counted: the first ones measure how soon plans are made and code is compiled. */
export const WARM_UP_PCS = 5;
const agent = new Agent({ keepAlive: true });

/** @param {number} port @param {Pc} pc @param {string} path @param {object} body @returns {Promise<any>} */
function post(port, pc, path, body) {
  return new Promise((resolve, reject) => {
    const text = JSON.stringify(body);
    const headers = {
      authorization: `Bearer ${pc.token}`,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
    };
    const call = request({ agent, host: '127.0.0.1', port, method: 'POST', path, headers }, (answer) => {
      let got = '';
      answer.setEncoding('utf8');
      answer.on('data', (chunk) => {
        got += chunk;
      });
      answer.on('end', () => {
        if (answer.statusCode === 200) resolve(JSON.parse(got));
        else reject(new Error(`${path}: ${answer.statusCode} ${got}`));
      });
    });
    call.on('error', reject);
    call.end(text);
  });
}

/**
 * Every PC is full and one of its claims waits: the time from the end of a device until the runner has the next one.
 * @param {Server & { refill: { samples: number, atOnce: number } }} order
 */
async function refill({ port, pcs, refill: { samples, atOnce } }) {
  /** @type {number[]} */
  const taken = [];
  const perPc = Math.ceil(samples / (pcs.length - WARM_UP_PCS));
  const left = [...pcs];
  let warmUp = WARM_UP_PCS;
  const work = async () => {
    for (let pc = left.pop(); pc; pc = left.pop()) {
      const path = `/api/pcs/${pc.id}/claim`;
      const counts = warmUp <= 0;
      warmUp -= 1;
      const { taskDevices } = await post(port, pc, path, { max: 100 });
      for (let n = 0; n < perPc; n += 1) {
        const waiting = post(port, pc, path, { max: 1, wait: 20 });
        await pause(5); // until it waits: it must not find the slot, but be woken
        const done = taskDevices.shift();
        const began = performance.now();
        const ended = post(port, pc, `/api/task-devices/${done.id}/complete`, { attempt: done.attempt });
        const next = (await waiting).taskDevices[0];
        if (!next) throw new Error('A slot was free, and nothing came.');
        if (counts) taken.push(performance.now() - began);
        taskDevices.push(next);
        await ended;
      }
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return { value: quantile(taken, 0.99), p50: quantile(taken, 0.5), samples: taken.length };
}

/**
 * Every runner ends a device and takes the next with the same request, PC after PC.
 * @param {Server & { drain: { callers: number, warmUpSeconds: number, seconds: number } }} order
 */
async function drain({ port, pcs, drain: { callers, ...times } }) {
  /** @type {{ pc: Pc, held: any[] }[]} */
  const all = pcs.map((pc) => ({ pc, held: [] }));
  const own = Array.from({ length: callers }, (_, n) => all.filter((_pc, at) => at % callers === n));
  return rateOf({
    callers: Math.min(callers, all.length),
    ...times,
    async call(caller) {
      const mine = own[caller] ?? [];
      const one = mine.shift();
      if (!one) return -1;
      mine.push(one);
      const done = one.held.shift();
      const { taskDevices } = done
        ? await post(port, one.pc, `/api/task-devices/${done.id}/complete`, {
            attempt: done.attempt,
            claim: { max: 1 },
          })
        : await post(port, one.pc, `/api/pcs/${one.pc.id}/claim`, { max: 1 });
      one.held.push(...taskDevices);
      return taskDevices.length;
    },
  });
}
