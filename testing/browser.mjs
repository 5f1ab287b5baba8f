// Debian's Chromium, driven by playwright-core: one for a suite. `.ci/run` installs it where it is missing.

import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';

/** Where distributions put it; MUSTER_TEST_BROWSER names another one. */
const KNOWN = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
/** A closed network: without these it asks for updates at every start. */
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
