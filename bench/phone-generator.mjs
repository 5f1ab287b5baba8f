// Phones that report a command and get the next one, one after the other over each of many connections: a separate process,
// started by fork(). Bare sockets, as in load-generator.mjs. Their messages are built before anything is counted.

import { connect } from 'node:net';
import { pause, quantile } from './measure.mjs';
import { acknowledged, commandUuid, signer } from './phones.mjs';

/**
 * @typedef {object} Phones
 * @property {number} port
 * @property {number} connections
 * @property {number} warmUpSeconds
 * @property {number} seconds
 * @property {number} commands of each
 * @property {{ udid: string, header: string, signed: string | null }[]} phones header: its certificate, as a proxy tells it;
 *   signed: a signature of it over anything, in base64, if it signs instead
 * @property {string} key of the phones, in PEM
 */

process.once('message', (/** @type {Phones} */ crowd) => {
  run(crowd).then(
    (result) => process.send?.({ result }, () => process.exit(0)),
    (error) => process.send?.({ error: String(error?.stack ?? error) }, () => process.exit(1)),
  );
});

/** @param {Phones} crowd */
async function run(crowd) {
  const state = { counting: false, over: false, done: 0, dry: false, /** @type {number[]} */ latencies: [] };
  const requests = crowd.phones.map((phone) => requestsOf(crowd, phone));
  const loops = Array.from({ length: crowd.connections }, (_, n) => {
    const own = requests.filter((_phone, at) => at % crowd.connections === n);
    // round by round, so that a phone comes again only after all others of its connection
    return drive(
      crowd.port,
      Array.from({ length: crowd.commands - 1 }, (_round, round) => own.map((phone) => phone[round])).flat(),
      state,
    );
  });
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
 * Everything that a phone will send, and the answers it must get.
 * @param {Phones} crowd @param {Phones['phones'][number]} phone
 */
function requestsOf({ commands, key, port }, { udid, header, signed }) {
  const signs = signed === null ? null : signer(Buffer.from(signed, 'base64'), key);
  return Array.from({ length: commands - 1 }, (_, n) => {
    const body = acknowledged(udid, commandUuid(udid, n));
    const identity = signs ? `mdm-signature: ${signs(body)}` : `x-client-cert: ${header}`;
    const head = `PUT /mdm HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\ncontent-type: application/x-apple-aspen-mdm; charset=UTF-8\r\n${identity}\r\ncontent-length: ${body.length}\r\n\r\n`;
    return { request: head + body, next: commandUuid(udid, n + 1) };
  });
}

/**
 * @param {number} port
 * @param {({ request: string, next: string } | undefined)[]} requests
 * @param {{ counting: boolean, over: boolean, done: number, dry: boolean, latencies: number[] }} state
 * @returns {Promise<void>}
 */
function drive(port, requests, state) {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    socket.setNoDelay(true);
    let at = 0;
    let began = 0;
    let text = '';
    const send = () => {
      began = performance.now();
      socket.write(requests[at]?.request ?? '');
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
      if (!answer.startsWith('HTTP/1.1 200') || !answer.includes(`<string>${requests[at]?.next}</string>`)) {
        reject(new Error(answer.slice(0, 800)));
        socket.destroy();
        return;
      }
      if (state.counting && !state.over) {
        state.done += 1;
        state.latencies.push(performance.now() - began);
      }
      at += 1;
      if (at >= requests.length && !state.over) state.dry = true;
      if (state.over || state.dry) {
        socket.end();
        resolve();
      } else send();
    });
  });
}
