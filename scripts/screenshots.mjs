// `npm run screenshots`: screenshots of the console with the demo fleet, for README and docs, into docs/images. Starts the demo,
// opens it in Debian's Chromium in both themes at desktop and phone width, and ends it. Takes about five minutes.

import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { startBrowser } from '../testing/browser.mjs';
import { buildConsole } from './console.mjs';
import { prepareCheckout, root, runTool } from './install.mjs';

const folder = path.join(root, 'docs/images');
/** In the first minute of the demo, version 7 is about to abort. */
const STORY_MS = 75_000;
const SETTLED_MS = 2_500;
const SIZES = {
  desktop: { viewport: { width: 1280, height: 800 }, deviceScaleFactor: 1 },
  phone: { viewport: { width: 390, height: 844 }, deviceScaleFactor: 1.5, hasTouch: true, isMobile: true },
};
const THEMES = /** @type {const} */ (['light', 'dark']);
/** The most that these may add to a clone. */
const MOST_BYTES = 1_500_000;

prepareCheckout();
if (runTool('typescript/bin/tsc', ['-b']).status !== 0) process.exit(1);
buildConsole();

const { startDemo } = await import(pathToFileURL(path.join(root, 'apps/server/dist/cli/demo.js')).href);
const demo = await startDemo(
  { port: '0' },
  {
    onStep: (/** @type {string} */ what) => console.log(`${what} …`),
    onFault: console.error,
    signal: new AbortController().signal,
  },
);
const browser = await startBrowser();
try {
  await new Promise((resolve) => setTimeout(resolve, STORY_MS));
  const pages = await pagesOf(demo);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const [size, options] of Object.entries(SIZES))
    for (const theme of THEMES) await take(pages, size, options, theme);
} finally {
  await browser.close();
  await demo.stop();
}
const bytes = readdirSync(folder).reduce((sum, file) => sum + statSync(path.join(folder, file)).size, 0);
console.log(`${readdirSync(folder).length} pictures, ${Math.round(bytes / 1_000)} kB`);
if (bytes > MOST_BYTES) {
  console.error(`That is more than ${MOST_BYTES / 1_000} kB: leave a page out, or make them smaller.`);
  process.exitCode = 1;
}

/**
 * The pages; at phone width only those that differ most.
 * @param {{ url: string, people: { ana: string } }} demo
 * @returns {Promise<{ name: string, at: string, onPhone: boolean, when?: () => Promise<boolean> }[]>}
 */
async function pagesOf({ people, url }) {
  const headers = { authorization: `Bearer ${people.ana}` };
  /** @param {string} address @returns {Promise<any>} */
  const ask = async (address) => (await fetch(url + address, { headers })).json();
  const { groups } = await ask('/api/waiting');
  const { batches } = await ask('/api/batches');
  const { devices } = await ask('/api/devices?text=Tablet%200412');
  const retried = groups.find((/** @type {{ code: string }} */ { code }) => code === 'RETRY') ?? groups[0];
  // wait: between two tasks the slots are empty
  const areSlotsBusy = async () => (await ask('/api/pcs/running')).running.length > 40;
  const version7 = batches.find((/** @type {{ name: string }} */ { name }) => name === 'version 7');
  return [
    { name: 'overview', at: '/', onPhone: true },
    { name: 'targets', at: '/targets', onPhone: false },
    { name: 'device', at: `/devices/${devices[0]?.id}`, onPhone: true },
    { name: 'action', at: `/actions/${retried.example.actionId}`, onPhone: false },
    { name: 'dead-letters', at: '/dead-letters', onPhone: false },
    { name: 'batch', at: `/batches/${version7.id}`, onPhone: true },
    { name: 'tasks', at: '/tasks', onPhone: false, when: areSlotsBusy },
    { name: 'orders', at: '/orders', onPhone: true },
  ];
}

/**
 * @param {Awaited<ReturnType<typeof pagesOf>>} pages
 * @param {string} size
 * @param {import('playwright-core').BrowserContextOptions} options
 * @param {'light' | 'dark'} theme
 */
async function take(pages, size, options, theme) {
  const context = await browser.newContext({ ...options, colorScheme: theme });
  context.setDefaultTimeout(60_000);
  const page = await context.newPage();
  const devtools = await context.newCDPSession(page);
  await page.goto(demo.url);
  await page.getByLabel('Operator token').fill(demo.people.ana);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation', { name: 'Pages' }).waitFor();
  for (const { at, name, onPhone, when } of pages) {
    if (size === 'phone' && !onPhone) continue;
    while (when && !(await when())) await page.waitForTimeout(SETTLED_MS);
    await page.goto(demo.url + at);
    await page.getByRole('heading', { level: 1 }).waitFor();
    // wait for charts and live data, so that no screenshot shows a skeleton
    await page.waitForTimeout(SETTLED_MS);
    // a third of the size of a PNG
    const { data } = await devtools.send('Page.captureScreenshot', { format: 'webp', quality: 80 });
    writeFileSync(path.join(folder, `${name}-${size}-${theme}.webp`), Buffer.from(data, 'base64'));
    console.log(`${name}, ${size}, ${theme}`);
  }
  await context.close();
}
