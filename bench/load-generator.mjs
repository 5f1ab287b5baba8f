// Sends requests over many connections and counts the answers: a separate process, started by fork(). Bare sockets
// instead of an HTTP client, because on two cores the server lacks whatever this process uses. One request at a time per
// connection (pipelining 1), each connection with its own lanes.

import { connect } from 'node:net';
import { quantile } from './measure.mjs';

/**
 * @typedef {{ method: string, path: string, body: string }} Request
 *
 * @typedef {object} Load
 * @property {number} port
 * @property {number} connections
 * @property {number} warmUpSeconds
 * @property {number} seconds
 * @property {Record<string, string>} headers
 * @property {Request} [same] the same request again and again
 * @property {Request[]} [each] or these in turn, on any free connection
 * @property {{ actionId: string, attempt: number, worker: string }[]} [leases] or reports, each with the next claim
 * @property {number} [leaseSeconds]
 */

process.once('message', (/** @type {Load} */ load) => {
  run(load).then(
    (result) => process.send?.({ result }, () => process.exit(0)),
    (error) => process.send?.({ error: String(error?.stack ?? error) }, () => process.exit(1)),
  );
});

/** @param {Load} load */
async function run(load) {
  const head = Object.entries({
    host: `127.0.0.1:${load.port}`,
    'content-type': 'application/json',
    ...load.headers,
  })
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');
  const state = { counting: false, over: false, done: 0, next: 0, /** @type {number[]} */ latencies: [] };
  /** @type {Promise<void>[]} */
  const loops = [];
  for (let n = 0; n < load.connections; n += 1) {
    const leases = (load.leases ?? []).filter((_, at) => at % load.connections === n);
    loops.push(drive(load, head, leases, state));
  }
  const failed = Promise.all(loops);
  await Promise.race([failed, pause(load.warmUpSeconds * 1_000)]);
  state.counting = true;
  process.send?.({ counting: true });
  const began = performance.now();
  const cpu = process.cpuUsage();
  await Promise.race([failed, pause(load.seconds * 1_000)]);
  const elapsed = (performance.now() - began) / 1_000;
  const used = process.cpuUsage(cpu);
  const done = state.done;
  state.over = true;
  await failed;
  return {
    value: done / elapsed,
    seconds: elapsed,
    p50: quantile(state.latencies, 0.5),
    p99: quantile(state.latencies, 0.99),
    generatorCores: (used.user + used.system) / 1e6 / elapsed,
  };
}

/**
 * @param {Load} load
 * @param {string} head
 * @param {NonNullable<Load['leases']>} leases
 * @param {{ counting: boolean, over: boolean, done: number, next: number, latencies: number[] }} state
 * @returns {Promise<void>}
 */
function drive(load, head, leases, state) {
  return new Promise((resolve, reject) => {
    const socket = connect(load.port, '127.0.0.1');
    socket.setNoDelay(true);
    let at = 0;
    let began = 0;
    let text = '';
    const written = (/** @type {Request} */ { method, path, body }) =>
      `${method} ${path} HTTP/1.1\r\n${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
    const same = load.same ? written(load.same) : '';

    const send = () => {
      began = performance.now();
      if (same !== '') {
        socket.write(same);
        return;
      }
      if (load.each) {
        socket.write(written(/** @type {Request} */ (load.each[state.next % load.each.length])));
        state.next += 1;
        return;
      }
      const lease = leases[at];
      if (!lease) {
        socket.end();
        resolve();
        return;
      }
      const body = `{"attempt":${lease.attempt},"status":"succeeded","worker":"${lease.worker}","next":{"worker":"${lease.worker}","leaseSeconds":${load.leaseSeconds}}}`;
      socket.write(
        `POST /api/actions/${lease.actionId}/report HTTP/1.1\r\n${head}content-length: ${body.length}\r\n\r\n${body}`,
      );
    };

    socket.on('connect', send);
    socket.on('error', reject);
    socket.on('data', (chunk) => {
      text += chunk.latin1Slice(0, chunk.length);
      const end = text.indexOf('\r\n\r\n');
      if (end < 0) return;
      const length = /content-length: (\d+)/i.exec(text);
      if (!length || text.length < end + 4 + Number(length[1])) return;
      const answer = text;
      text = '';
      // a refusal over GraphQL is a 200 too
      if (!/^HTTP\/1\.1 20[01]/.test(answer) || (load.each && answer.startsWith('{"errors"', end + 4))) {
        reject(new Error(answer.slice(0, 600)));
        socket.destroy();
        return;
      }
      if (state.counting && !state.over) {
        state.done += 1;
        state.latencies.push(performance.now() - began);
      }
      if (load.leases && !take(answer.slice(end + 4))) {
        reject(new Error(`Not accepted: ${answer.slice(end + 4, end + 400)}`));
        socket.destroy();
        return;
      }
      if (state.over) {
        socket.end();
        resolve();
      } else send();
    });

    /** @param {string} body */
    function take(body) {
      const { accepted, actions } = JSON.parse(body);
      if (accepted !== true) return false;
      const next = actions[0];
      const lease = leases[at];
      if (next && lease) {
        lease.actionId = next.id;
        lease.attempt = next.attempt;
        at = (at + 1) % leases.length;
      } else {
        leases.splice(at, 1);
        if (at >= leases.length) at = 0;
      }
      return true;
    }
  });
}

/** @param {number} ms */
function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
