// What the console waits for: the first page of its lists over a million actions, compared with a thousand; hints about changes
// to many open pages; and the first paint of the overview in a browser.

import { get as ask } from 'node:http';
import { pause, quantile } from '../measure.mjs';

const LISTS = ['', '?state=pending', '?state=unfinished', '?state=failed', '?state=finished'];
const STREAMS = 200;
const PAINTS = 10;

/** @param {string} url @param {number} samples */
async function readerOf(url, samples) {
  const { openServer } = await import('../server.mjs');
  const server = await openServer(url);
  /** @type {number[]} */
  const taken = [];
  return {
    taken,
    close: server.close,
    /** @param {number} n */
    async read(n) {
      const began = performance.now();
      const response = await fetch(`http://127.0.0.1:${server.port}/api/actions${LISTS[n % LISTS.length]}`, {
        headers: server.headers,
      });
      await response.arrayBuffer();
      if (response.status !== 200) throw new Error(`The list was answered ${response.status}.`);
      if (n >= samples / 5) taken.push(performance.now() - began);
    },
  };
}

const lists = {
  name: 'list-page-million',
  title: 'First page of the lists of actions, a million pending, p99',
  unit: 'ms',
  lower: true,
  uses: ['postgres'],
  template: 'million',
  beside: 'thousand',
  settings: `GET /api/actions in turns with ${LISTS.length} filters, one caller, 100 of a page; in turns with a database of a thousand`,
  /** @param {import('../rows.mjs').Task} task */
  async measure({ url, beside, sizes }) {
    const samples = Math.min(sizes.samples, 500);
    const own = await readerOf(url, samples);
    const other = await readerOf(/** @type {string} */ (beside), samples);
    for (let n = 0; n < samples; n += 1) {
      await own.read(n);
      await other.read(n);
    }
    await own.close();
    await other.close();
    return {
      value: quantile(own.taken, 0.99),
      p50: quantile(own.taken, 0.5),
      p99: quantile(own.taken, 0.99),
      besideP50: quantile(other.taken, 0.5),
      besideP99: quantile(other.taken, 0.99),
    };
  },
};

const live = {
  name: 'live-updates',
  title: `Hints of changes to ${STREAMS} open pages`,
  unit: 'messages/s',
  uses: ['postgres'],
  settings: `GET /api/live ${STREAMS} times, each two messages a second at most, while one caller queues actions`,
  /** @param {import('../rows.mjs').Task} task */
  async measure({ url, sizes }) {
    const { openServer } = await import('../server.mjs');
    const server = await openServer(url);
    const address = `http://127.0.0.1:${server.port}`;
    let messages = 0;
    let isOver = false;
    const streams = await Promise.all(
      Array.from({ length: STREAMS }, () =>
        openStream(`${address}/api/live`, server.headers, () => {
          messages += 1;
        }),
      ),
    );
    let queued = 0;
    const queueing = (async () => {
      while (!isOver) {
        const response = await fetch(`${address}/api/lanes/bench-${queued % 50}/actions`, {
          method: 'POST',
          headers: { ...server.headers, 'content-type': 'application/json' },
          body: '{"kind":"X"}',
        });
        await response.arrayBuffer();
        queued += 1;
      }
    })();
    await pause(sizes.warmUpSeconds * 1_000);
    const [before, began] = [messages, performance.now()];
    await pause(sizes.seconds * 1_000);
    const value = (messages - before) / ((performance.now() - began) / 1_000);
    isOver = true;
    await queueing;
    for (const stream of streams) stream.destroy();
    await server.close();
    return { value, streams: STREAMS, queuedPerSecond: queued / (sizes.seconds + sizes.warmUpSeconds) };
  },
};

/**
 * Node's own client: `fetch` has a pool, in which hundreds of endless requests would wait for each other.
 * @param {string} url @param {Record<string, string>} headers @param {() => void} onChange
 * @returns {Promise<import('node:http').ClientRequest>}
 */
function openStream(url, headers, onChange) {
  return new Promise((resolve, reject) => {
    const request = ask(url, { headers, agent: false }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`The stream was answered ${response.statusCode}.`));
      response.setEncoding('utf8').on('data', (/** @type {string} */ text) => {
        if (/^event: (changed|many)$/m.test(text)) onChange();
      });
      response.on('error', () => {}); // it is broken off at the end
      resolve(request);
    });
    request.on('error', reject);
  });
}

const paint = {
  name: 'overview-first-paint',
  title: 'First paint of the overview with its figures, in Chromium',
  unit: 'ms',
  lower: true,
  uses: ['postgres', 'browser'],
  settings: `largest contentful paint, cold cache, ${PAINTS} times, the median; server, database and browser share the machine`,
  /** @param {import('../rows.mjs').Task} task */
  async measure({ url }) {
    const { buildConsole } = await import('../../scripts/console.mjs');
    const { startBrowser } = await import('../../testing/browser.mjs');
    const { openServer } = await import('../server.mjs');
    buildConsole();
    const server = await openServer(url);
    const browser = await startBrowser();
    const address = `http://localhost:${server.port}`;
    /** @type {number[]} */
    const painted = [];
    for (let n = 0; n < PAINTS; n += 1) {
      const context = await browser.newContext();
      const page = await context.newPage();
      await page.goto(address);
      await page.getByLabel('Operator token').fill(server.headers.authorization.replace('Bearer ', ''));
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('heading', { name: 'Overview' }).waitFor();
      const cold = await context.newCDPSession(page);
      await cold.send('Network.clearBrowserCache');
      await page.reload();
      await page.getByRole('heading', { name: 'Overview' }).waitFor();
      painted.push(
        await page.evaluate(
          `new Promise((tell) => new PerformanceObserver((list) => tell(list.getEntries().at(-1).startTime))
            .observe({ type: 'largest-contentful-paint', buffered: true }))`,
        ),
      );
      await context.close();
    }
    await browser.close();
    await server.close();
    return { value: quantile(painted, 0.5), p50: quantile(painted, 0.5), p99: quantile(painted, 0.99) };
  },
};

export default [lists, live, paint];
