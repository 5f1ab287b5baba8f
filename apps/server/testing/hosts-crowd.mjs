// Thousands of waiting agents, in a separate process so that their sockets are not in the server's memory. They poll over raw
// sockets; the same process queues the actions, so one clock measures from queued to received. This file is both ends:
// imported, it starts the process; started by fork(), it is the process.

import { fork } from 'node:child_process';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';

/**
 * @typedef {object} CrowdOptions
 * @property {number} port
 * @property {string} operator the operator's token
 * @property {string[]} tokens one per agent
 *
 * @typedef {{ agent: number, path: string, body: object }} Order an action, and the agent that is to get it
 * @typedef {{ sentMs: number[], answers: number, others: number }} Delivered
 */
const CONNECT_AT_ONCE = 200;
const LINE = '\r\n';

/** @param {CrowdOptions} options */
export function hostsCrowd(options) {
  const child = fork(fileURLToPath(import.meta.url), { execArgv: [] });
  /** @param {object} order @returns {Promise<any>} */
  const tell = (order) =>
    new Promise((resolve, reject) => {
      child.once('message', (/** @type {{ error?: string, result?: unknown }} */ answer) =>
        answer.error ? reject(new Error(answer.error)) : resolve(answer.result),
      );
      child.send(order);
    });
  const ready = tell({ act: 'begin', options });
  return {
    /** All agents connect and poll once without waiting. */
    connect: () => ready.then(() => tell({ act: 'connect' })),
    /** Everybody sends a poll that waits; resolves when all are sent. @param {number} wait */
    park: (wait) => tell({ act: 'park', wait }),
    /** All but the first so many. @param {number} from @param {number} wait */
    parkFrom: (from, wait) => tell({ act: 'park', from, wait }),
    /** How many polls were answered empty and not sent again. @returns {Promise<number>} */
    idle: () => tell({ act: 'idle' }),
    /**
     * Queues the actions, this many at a time, and waits until each agent has its own.
     * @param {Order[]} orders @param {number} atOnce @returns {Promise<Delivered>}
     */
    deliver: (orders, atOnce) => tell({ act: 'deliver', orders, atOnce }),
    /** So many polls without waiting, one after the other, each by the next agent. @param {number} count @returns {Promise<Delivered>} */
    ask: (count) => tell({ act: 'ask', count }),
    end: () => child.kill('SIGKILL'),
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  /** @type {CrowdOptions} */
  let options = { port: 0, operator: '', tokens: [] };
  /** @type {ReturnType<typeof socketTo>[]} */
  const agents = [];
  /** Whether agents poll again after an empty answer. */
  let keepsPolling = false;

  process.on('disconnect', () => process.exit(0));
  process.on('message', (/** @type {any} */ order) => {
    perform(order).then(
      (result) => process.send?.({ result }),
      (error) => process.send?.({ error: String(error?.stack ?? error) }),
    );
  });

  /** @param {any} order @returns {Promise<unknown>} */
  async function perform(order) {
    switch (order.act) {
      case 'begin':
        options = order.options;
        return null;
      case 'connect':
        return connectAll();
      case 'park':
        for (const agent of agents.slice(order.from ?? 0))
          agent.send(`GET /api/control/queue?wait=${order.wait}`);
        return null;
      case 'idle':
        return agents.filter((agent) => agent.answer !== null).length;
      case 'deliver':
        return deliver(order.orders, order.atOnce);
      case 'ask':
        return ask(order.count);
      default:
        throw new Error(`What is ${order.act}?`);
    }
  }

  async function connectAll() {
    for (let at = 0; at < options.tokens.length; at += CONNECT_AT_ONCE) {
      const some = options.tokens.slice(at, at + CONNECT_AT_ONCE).map(socketTo);
      agents.push(...some);
      await Promise.all(some.map((agent) => agent.ask('GET /api/control/queue')));
    }
  }

  /** @param {Order[]} orders @param {number} atOnce */
  async function deliver(orders, atOnce) {
    keepsPolling = true;
    for (const agent of agents) agent.pollAgain();
    const left = [...orders];
    /** @type {number[]} */
    const sentMs = [];
    let answers = 0;
    await Promise.all(
      Array.from({ length: atOnce }, async () => {
        const operator = socketTo(options.operator);
        for (let order = left.shift(); order; order = left.shift()) {
          const agent = agents[order.agent];
          if (!agent) throw new Error(`There is no agent ${order.agent}.`);
          const began = performance.now();
          const received = agent.received();
          const queued = await operator.ask(`POST ${order.path}`, order.body);
          if (!queued.startsWith('HTTP/1.1 201')) throw new Error(queued);
          const { at, text } = await received;
          if (!text.startsWith('HTTP/1.1 200')) throw new Error(`agent ${order.agent}: ${text}`);
          sentMs.push(at - began);
          answers += 1;
        }
        operator.close();
      }),
    );
    const others = agents.filter(({ answer }) => answer?.text.startsWith('HTTP/1.1 200')).length - answers;
    return { sentMs, answers, others };
  }

  /** @param {number} count */
  async function ask(count) {
    /** @type {number[]} */
    const sentMs = [];
    let answers = 0;
    for (let n = 0; n < count; n += 1) {
      const asking = socketTo(String(options.tokens[n]));
      await asking.ask('GET /api/control/running');
      const began = performance.now();
      const text = await asking.ask('GET /api/control/queue?wait=25');
      sentMs.push(performance.now() - began);
      if (text.startsWith('HTTP/1.1 200')) answers += 1;
      asking.close();
    }
    return { sentMs, answers, others: 0 };
  }

  /** One connection that sends one request at a time. @param {string} token */
  function socketTo(token) {
    const socket = connect(options.port, '127.0.0.1');
    let text = '';
    /** @type {((answer: { at: number, text: string }) => void) | null} */
    let waiting = null;
    const self = {
      /** @type {{ at: number, text: string } | null} */
      answer: null,
      /** @param {string} request @param {object} [body] */
      send(request, body) {
        self.answer = null;
        const json = body ? JSON.stringify(body) : '';
        const head = [
          `${request} HTTP/1.1`,
          'host: 127.0.0.1',
          `authorization: Bearer ${token}`,
          ...(body ? ['content-type: application/json', `content-length: ${Buffer.byteLength(json)}`] : []),
        ];
        socket.write(head.join(LINE) + LINE + LINE + json);
      },
      received() {
        return self.answer
          ? Promise.resolve(self.answer)
          : new Promise((/** @type {(answer: { at: number, text: string }) => void} */ resolve) => {
              waiting = resolve;
            });
      },
      /** @param {string} request @param {object} [body] */
      async ask(request, body) {
        self.send(request, body);
        return (await self.received()).text;
      },
      pollAgain() {
        if (self.answer?.text.startsWith('HTTP/1.1 204')) self.send('GET /api/control/queue?wait=25');
      },
      close: () => socket.destroy(),
    };
    socket.setNoDelay(true);
    socket.on('error', (error) => {
      console.error('crowd:', error);
      process.exit(1);
    });
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      const end = text.indexOf(LINE + LINE);
      if (end < 0) return;
      const length = Number(/content-length: (\d+)/i.exec(text.slice(0, end))?.[1] ?? 0);
      if (text.length < end + 4 + length) return;
      self.answer = { at: performance.now(), text };
      text = '';
      if (keepsPolling) self.pollAgain();
      if (!self.answer) return;
      waiting?.(self.answer);
      waiting = null;
    });
    return self;
  }
}
