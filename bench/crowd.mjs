// Many waiting clients, in a separate process so that their sockets are not in the server's memory.
// This file is both ends: imported, it starts the process; started by fork(), it is the process.

import { fork } from 'node:child_process';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import { pause } from './measure.mjs';

/** The longest wait, in seconds, that the server grants one request. */
export const LONGEST_WAIT = 25;
const AT_ONCE = 200;
/** The pause between two groups: if they come faster than the server accepts, the system drops some and retries a second later. */
const PAUSE_MS = 30;

/** @param {{ port: number, headers: Record<string, string>, count: number }} on */
export function parkingCrowd(on) {
  const child = fork(fileURLToPath(import.meta.url), { execArgv: [] });
  /** @param {object} order @returns {Promise<void>} */
  const tell = (order) =>
    new Promise((resolve, reject) => {
      child.once('message', (/** @type {{ error?: string }} */ answer) =>
        answer.error ? reject(new Error(answer.error)) : resolve(),
      );
      child.send(order);
    });
  return {
    /** Resolves when all requests are sent; with no wait, when all are answered. @param {number} wait */
    park: (wait) => tell({ ...on, wait }),
    /** Resolves when all sockets are closed. */
    leave: () => tell({ leave: true }),
    end: () => child.disconnect(),
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  /** @type {import('node:net').Socket[]} */
  let sockets = [];
  process.on('message', (/** @type {any} */ order) => {
    const done = order.leave ? leave() : park(order);
    done.then(
      () => process.send?.({}),
      (error) => process.send?.({ error: String(error) }),
    );
  });
  process.on('disconnect', () => process.exit(0));

  async function leave() {
    const gone = sockets.map((socket) => new Promise((resolve) => socket.once('close', resolve)));
    for (const socket of sockets) socket.destroy();
    sockets = [];
    await Promise.all(gone);
  }

  /** @param {{ port: number, headers: Record<string, string>, count: number, wait: number }} order */
  async function park({ port, headers, count, wait }) {
    const head = Object.entries({ host: `127.0.0.1:${port}`, 'content-type': 'application/json', ...headers })
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join('');
    for (let at = 1; at <= count; at += AT_ONCE) {
      const some = Math.min(AT_ONCE, count - at + 1);
      await Promise.all(Array.from({ length: some }, (_, n) => ask(at + n)));
      await pause(PAUSE_MS);
    }

    /** @param {number} lane */
    function ask(lane) {
      return new Promise((resolve, reject) => {
        const socket = connect(port, '127.0.0.1');
        sockets.push(socket);
        const body = JSON.stringify({ worker: `worker ${lane}`, wait });
        socket.on('error', reject);
        socket.on('data', (chunk) => {
          if (chunk.toString('latin1').startsWith('HTTP/1.1 200')) resolve(undefined);
          else reject(new Error(chunk.toString('latin1').slice(0, 300)));
        });
        socket.on('connect', () =>
          socket.write(
            `POST /api/lanes/lane-${lane}/claim HTTP/1.1\r\n${head}content-length: ${body.length}\r\n\r\n${body}`,
            () => {
              if (wait > 0) resolve(undefined);
            },
          ),
        );
      });
    }
  }
}
