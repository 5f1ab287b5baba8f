// Debian's Chromium, driven by playwright-core, one per suite. `.ci/run` installs it if it is missing.

import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';

/** Where distributions install it; MUSTER_TEST_BROWSER names another one. */
const KNOWN = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
/** Without these it asks the network for updates at every start. */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export function findBrowser() {
  return [process.env.MUSTER_TEST_BROWSER ?? '', ...KNOWN].find((file) => file !== '' && existsSync(file));
}

export async function startBrowser() {
  const executablePath = findBrowser();
  if (executablePath === undefined)
    throw new Error('No Chromium was found: apt-get install chromium, or set MUSTER_TEST_BROWSER.');
  return chromium.launch({ executablePath, args: FLAGS });
}
