// What the load generators share: requests over bare sockets, one at a time per connection (pipelining 1), counted after a warm-up.
// No HTTP client, because on two cores the server lacks whatever this process uses.

import { connect } from 'node:net';
import { pause, quantile } from './measure.mjs';

/**
 * @typedef {object} State
 * @property {boolean} counting
 * @property {boolean} over
 * @property {boolean} dry the work ran out too early
 * @property {number} done
 * @property {number[]} latencies
 *
 * @typedef {object} Connection
 * @property {() => string | null} next the text of the next request; null: nothing is left to do
 * @property {(answer: string, body: number) => boolean} take whether the answer, whose body begins there, is as expected
 */

/**
 * Makes this process a generator: its one message says what to do, and it answers with what it counted.
 * @template {{ port: number, connections: number, warmUpSeconds: number, seconds: number }} Load
 * @param {(load: Load, state: State) => (n: number) => Connection} prepare
 */
export function generate(prepare) {
  process.once('message', (/** @type {Load} */ load) => {
    run(load, prepare).then(
      (result) => process.send?.({ result }, () => process.exit(0)),
      (error) => process.send?.({ error: String(error?.stack ?? error) }, () => process.exit(1)),
    );
  });
}

/**
 * @template {{ port: number, connections: number, warmUpSeconds: number, seconds: number }} Load
 * @param {Load} load
 * @param {(load: Load, state: State) => (n: number) => Connection} prepare
 */
async function run(load, prepare) {
  /** @type {State} */
  const state = { counting: false, over: false, dry: false, done: 0, latencies: [] };
  const connection = prepare(load, state);
  const loops = Array.from({ length: load.connections }, (_, n) => drive(load.port, connection(n), state));
  const all = Promise.all(loops);
  await Promise.race([all, pause(load.warmUpSeconds * 1_000)]);
  state.counting = true;
  process.send?.({ counting: true });
  const began = performance.now();
  const cpu = process.cpuUsage();
  await Promise.race([all, pause(load.seconds * 1_000)]);
  const elapsed = (performance.now() - began) / 1_000;
  const used = process.cpuUsage(cpu);
  const { done } = state;
  state.over = true;
  await all;
  if (state.dry) throw new Error('The work ran out.');
  return {
    value: done / elapsed,
    seconds: elapsed,
    p50: quantile(state.latencies, 0.5),
    p99: quantile(state.latencies, 0.99),
    generatorCores: (used.user + used.system) / 1e6 / elapsed,
  };
}

/**
 * Sends requests over one connection until there is no next one.
 * @param {number} port
 * @param {Connection} connection
 * @param {State} state
 * @param {(port: number) => import('node:net').Socket} [open]
 * @returns {Promise<void>}
 */
export function drive(port, { next, take }, state, open = (to) => connect(to, '127.0.0.1')) {
  return new Promise((resolve, reject) => {
    const socket = open(port);
    socket.setNoDelay(true);
    let began = 0;
    let text = '';
    const send = () => {
      const request = state.over || state.dry ? null : next();
      if (request === null) {
        socket.end();
        resolve();
        return;
      }
      began = performance.now();
      socket.write(request);
    };
    socket.on('connect', send);
    socket.on('error', reject);
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      const end = text.indexOf('\r\n\r\n');
      if (end < 0) return;
      const length = /content-length: (\d+)/i.exec(text);
      if (!length || text.length < end + 4 + Number(length[1])) return;
      const answer = text;
      text = '';
      if (!take(answer, end + 4)) {
        reject(new Error(answer.slice(0, 800)));
        socket.destroy();
        return;
      }
      if (state.counting && !state.over) {
        state.done += 1;
        state.latencies.push(performance.now() - began);
      }
      send();
    });
  });
}
