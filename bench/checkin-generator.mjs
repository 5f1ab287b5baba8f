// Devices that check in, one after the other over each of many connections: a separate process, started by fork().
// Every device has its own token, reports its last action and gets the next one. Bare sockets, as in load-generator.mjs.

import { connect } from 'node:net';
import { tokenOf } from './fleet.mjs';
import { pause, quantile } from './measure.mjs';

/**
 * @typedef {{ deviceId: number, actionId?: string, attempt?: number }} Hands
 * @typedef {object} Crowd
 * @property {number} port
 * @property {number} connections
 * @property {number} warmUpSeconds
 * @property {number} seconds
 * @property {Hands[]} devices
 */

process.once('message', (/** @type {Crowd} */ crowd) => {
  run(crowd).then(
    (result) => process.send?.({ result }, () => process.exit(0)),
    (error) => process.send?.({ error: String(error?.stack ?? error) }, () => process.exit(1)),
  );
});

/** @param {Crowd} crowd */
async function run(crowd) {
  const state = { counting: false, over: false, done: 0, dry: false, /** @type {number[]} */ latencies: [] };
  const loops = Array.from({ length: crowd.connections }, (_, n) =>
    drive(
      crowd.port,
      crowd.devices.filter((_device, at) => at % crowd.connections === n),
      state,
    ),
  );
  const failed = Promise.all(loops);
  await Promise.race([failed, pause(crowd.warmUpSeconds * 1_000)]);
  state.counting = true;
  process.send?.({ counting: true });
  const began = performance.now();
  await Promise.race([failed, pause(crowd.seconds * 1_000)]);
  const elapsed = (performance.now() - began) / 1_000;
  const { done } = state;
  state.over = true;
  await failed;
  if (state.dry) throw new Error('The work ran out.');
  return {
    value: done / elapsed,
    seconds: elapsed,
    p50: quantile(state.latencies, 0.5),
    p99: quantile(state.latencies, 0.99),
  };
}

/**
 * @param {number} port
 * @param {Hands[]} devices
 * @param {{ counting: boolean, over: boolean, done: number, dry: boolean, latencies: number[] }} state
 * @returns {Promise<void>}
 */
function drive(port, devices, state) {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    socket.setNoDelay(true);
    let at = 0;
    let began = 0;
    let text = '';
    const device = () => /** @type {Hands} */ (devices[at % devices.length]);

    const send = () => {
      began = performance.now();
      const { deviceId, actionId, attempt } = device();
      const body = actionId
        ? `{"result":{"actionId":"${actionId}","attempt":${attempt},"status":"done"}}`
        : '{}';
      socket.write(
        `POST /api/checkin HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\ncontent-type: application/json\r\nauthorization: Bearer ${tokenOf(deviceId)}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
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
      const body = answer.slice(end + 4);
      const { action, result } = answer.startsWith('HTTP/1.1 200') ? JSON.parse(body) : {};
      if (action === undefined || (device().actionId && result && !result.accepted)) {
        reject(new Error(answer.slice(0, 600)));
        socket.destroy();
        return;
      }
      if (state.counting && !state.over) {
        state.done += 1;
        state.latencies.push(performance.now() - began);
      }
      if (!action && !state.over) state.dry = true;
      // a queue without results returns no attempt
      if (action?.attempt) Object.assign(device(), { actionId: action.id, attempt: action.attempt });
      at += 1;
      if (state.over || state.dry) {
        socket.end();
        resolve();
      } else send();
    });
  });
}
