// The devices of a simulated or measured fleet, in a process of their own, so that their sockets and work are not counted as the
// server's. This file is both ends: imported, it starts the process; started by fork(), it is the process.
//
// Each device does what one in the field does: it checks in when it is told to, keeps the action that it gets, and reports it with
// its next check-in, which is `report()` if it has none before.

import { fork } from 'node:child_process';
import { connect } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { drive } from '../../bench/drive.mjs';
import { checkInText } from '../../bench/fleet.mjs';

/**
 * @typedef {object} Order
 * @property {number[]} ids the devices that check in
 * @property {boolean} [alsoHolders] and those that have something to report
 * @property {boolean} [fresh] a new connection for each check-in
 * @property {boolean} [tls]
 * @property {number} [wait] seconds
 * @property {number} [connections]
 *
 * @typedef {{ checkIns: number, handed: number, reported: number, bytesIn: number, bytesOut: number }} Counts
 */

const CONNECTIONS = 64;

/** @param {number} port */
export function startCrowd(port) {
  const child = fork(fileURLToPath(import.meta.url), { execArgv: [] });
  return {
    /** @param {Order} order @returns {Promise<Counts>} */
    checkIn: (order) =>
      new Promise((resolve, reject) => {
        const ended = (/** @type {number | null} */ code) =>
          reject(new Error(`The devices ended with exit code ${code}.`));
        child.once('exit', ended);
        child.once('message', (/** @type {any} */ { counts, error }) => {
          child.off('exit', ended);
          if (error) reject(new Error(error));
          else resolve(counts);
        });
        child.send({ ...order, port });
      }),
    end: () => child.disconnect(),
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  /** @type {Map<number, { actionId: string, attempt: number }>} */
  const hands = new Map();
  process.on('message', (/** @type {Order & { port: number }} */ order) => {
    checkIn(order, hands).then(
      (counts) => process.send?.({ counts }),
      (error) => process.send?.({ error: String(error?.stack ?? error) }),
    );
  });
  process.on('disconnect', () => process.exit(0));
}

/**
 * @param {Order & { port: number }} order
 * @param {Map<number, { actionId: string, attempt: number }>} hands
 */
async function checkIn(
  { ids, alsoHolders = false, fresh = false, tls = false, wait, connections, port },
  hands,
) {
  const left = alsoHolders ? [...new Set([...ids, ...hands.keys()])] : ids;
  const counts = { checkIns: 0, handed: 0, reported: 0, bytesIn: 0, bytesOut: 0 };
  const state = { counting: false, over: false, dry: false, done: 0, latencies: [] };
  let at = 0;

  /** @param {number} most requests */
  function connection(most) {
    let deviceId = 0;
    let sent = 0;
    return {
      next() {
        if (at === left.length || sent === most) return null;
        sent += 1;
        deviceId = Number(left[at]);
        at += 1;
        const text = checkInText(port, { deviceId, ...hands.get(deviceId) }, wait);
        counts.bytesIn += text.length;
        return text;
      },
      take(/** @type {string} */ answer, /** @type {number} */ body) {
        if (!answer.startsWith('HTTP/1.1 200')) return false;
        const { action, result } = JSON.parse(answer.slice(body));
        if (result && !result.accepted) return false;
        counts.checkIns += 1;
        counts.bytesOut += answer.length;
        if (result) counts.reported += 1;
        hands.delete(deviceId);
        if (!action) return true;
        counts.handed += 1;
        hands.set(deviceId, { actionId: action.id, attempt: action.attempt });
        return true;
      },
    };
  }

  const open = tls
    ? (/** @type {number} */ to) => connect({ port: to, host: '127.0.0.1', rejectUnauthorized: false })
    : undefined;
  const lines = Math.min(connections ?? CONNECTIONS, left.length);
  await Promise.all(
    Array.from({ length: lines }, async () => {
      if (!fresh) return drive(port, connection(Number.POSITIVE_INFINITY), state, open);
      while (at < left.length) await drive(port, connection(1), state, open);
    }),
  );
  return counts;
}
