import axe from 'axe-core';
import type { Browser, Page } from 'playwright-core';

/** The console in a browser, as a person uses it. */
export interface Sitting {
  readonly page: Page;
  /** Errors that the browser logged. */
  readonly complaints: string[];
  /** Goes to another page of the console without loading it again. */
  go(path: string): Promise<void>;
  /** Which changes these keys request from the server as soon as they are pressed. */
  changesBy(...keys: readonly string[]): Promise<string[]>;
  /** Sets the theme of the system, and waits until the page has it. */
  inTheme(colorScheme: 'light' | 'dark'): Promise<void>;
  /** What axe finds, in all or only in colours, and whether the page is wider than the screen. */
  faults(of?: 'all' | 'colours'): Promise<string[]>;
}

export const PATIENCE_MS = 240_000;
const RULES = {
  all: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'],
  colours: { type: 'rule', values: ['color-contrast'] },
};

export async function sitDown(browser: Browser, url: string, token: string, path = '/'): Promise<Sitting> {
  const context = await browser.newContext({ colorScheme: 'light', viewport: { width: 1280, height: 800 } });
  // nothing promises how soon something appears
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  const sitting = inTab(page);
  await page.goto(url + path);
  await page.getByLabel('Operator token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation', { name: 'Pages' }).waitFor();
  return sitting;
}

export function inTab(page: Page): Sitting {
  const complaints: string[] = [];
  page.on('console', (said) => {
    if (said.type() === 'error') complaints.push(`${said.text()} ${said.location().url}`);
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  return {
    page,
    complaints,
    async go(path) {
      // as text, because the types of tests have no window
      await page.evaluate(
        `history.pushState({}, '', ${JSON.stringify(path)}); dispatchEvent(new PopStateEvent('popstate'))`,
      );
      await page.waitForURL((url) => url.pathname + url.search === path);
    },
    async changesBy(...keys) {
      await page.evaluate(`(() => {
        const really = (window.reallyFetch ??= fetch);
        window.asked = [];
        window.fetch = (path, init) => {
          if (init.method !== 'GET') asked.push(init.method + ' ' + path);
          return really(path, init);
        };
      })()`);
      for (const key of keys) await page.keyboard.press(key);
      return page.evaluate<string[]>('asked');
    },
    async inTheme(colorScheme) {
      // without motion: a colour in transition belongs to neither theme
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      await page.locator(`html[data-theme=${colorScheme}]`).waitFor({ state: 'attached' });
      // painted, and animations have ended
      await page.evaluate('new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next)))');
    },
    async faults(of = 'all') {
      // evaluated by the driver: the content security policy applies to the page
      if (!(await page.evaluate("'axe' in window"))) await page.evaluate(axe.source);
      return page.evaluate<string[]>(`(async () => {
        const { violations } = await axe.run({ runOnly: ${JSON.stringify(RULES[of])} });
        const wide = document.documentElement.scrollWidth > innerWidth ? ['wider than the screen'] : [];
        return [...wide, ...violations.map(({ id, nodes: [{ any, html }] }) => [id, html, ...any.map(({ message }) => message)].join(': '))];
      })()`);
    },
  };
}
