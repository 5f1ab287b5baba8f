import axe from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import type { TestServer } from './test-server.ts';

/** The console in a browser, as somebody sits before it. */
export interface Sitting {
  readonly page: Page;
  /** What the browser complained about. */
  readonly complaints: string[];
  /** To another page of the console without loading it anew. */
  go(path: string): Promise<void>;
  /** What axe finds, and whether the page is wider than the screen. */
  faults(): Promise<string[]>;
}

export const PATIENCE_MS = 240_000;
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];

export async function sitDown(browser: Browser, t: TestServer, token: string, path = '/'): Promise<Sitting> {
  const context = await browser.newContext({ colorScheme: 'light', viewport: { width: 1280, height: 800 } });
  // how soon something comes is no promise
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  const sitting = inTab(page);
  await page.goto(t.server.url + path);
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
      // text, because the types of tests know no window
      await page.evaluate(
        `history.pushState({}, '', ${JSON.stringify(path)}); dispatchEvent(new PopStateEvent('popstate'))`,
      );
      await page.waitForURL((url) => url.pathname + url.search === path);
    },
    async faults() {
      // evaluated by the driver: the content security policy is about the page
      if (!(await page.evaluate("'axe' in window"))) await page.evaluate(axe.source);
      return page.evaluate<string[]>(`(async () => {
        const { violations } = await axe.run({ runOnly: ${JSON.stringify(RULES)} });
        const wide = document.documentElement.scrollWidth > innerWidth ? ['wider than the screen'] : [];
        return [...wide, ...violations.map(({ id, nodes }) => id + ': ' + nodes[0].html)];
      })()`);
    },
  };
}
