import { setTimeout as pause } from 'node:timers/promises';
import type { FeedEvent, FeedPage, LiveChanged } from '@muster/contracts';
import { type Finding, finding } from '../../torture/finding.ts';
import type { Playing } from './part.ts';
import { keepOpen } from './server-sent.ts';

/** Two followers of everything that the other parts do: the stream of events, and the console with its live stream and its pages. */

const PAGES = ['/', '/api/counts', '/api/actions?limit=50', '/api/hosts/load', '/api/overview'];
const BETWEEN_MS = 500;
/** Without disturbances, and after this long, a stream that does not continue has lost its place. */
const PATIENCE_MS = 60_000;

const lineOf = ({ actionId, attempt, cursor, type }: FeedEvent) =>
  `${type} of attempt ${attempt} of action ${actionId} at ${cursor}`;

export interface Followed {
  /** Compares what was heard with the whole feed, which is at its end. */
  finish(): Promise<Finding[]>;
}

export async function followEvents(playing: Playing): Promise<Followed> {
  const { caller, token } = playing;
  const heard: string[] = [];
  const end = keepOpen(caller, {
    path: '/api/events?cursor=start',
    headers: { authorization: `Bearer ${token}` },
    heard: ({ data }) => void heard.push(lineOf(JSON.parse(data))),
  });
  return {
    async finish() {
      const all = (await readFeed(playing)).map(lineOf);
      await inTime(() => heard.length >= all.length);
      await end();
      const wrong = all.findIndex((line, n) => heard[n] !== line);
      if (wrong < 0) return [];
      const [told = 'nothing', wanted] = [heard[wrong], all[wrong]];
      return [
        finding('G43', null, `event ${wrong + 1} of the stream was ${told}, and the feed has ${wanted}`),
      ];
    },
  };
}

export async function followConsole(playing: Playing): Promise<Followed> {
  const { caller, token } = playing;
  const named = new Set<string>();
  let isAll = false;
  let isOver = false;
  const { cookie, tenant } = await signIn(playing);
  let begun = () => {};
  const isOpen = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const end = keepOpen(caller, {
    path: `/api/live?tenant=${tenant}`,
    headers: { cookie },
    heard({ data, event }) {
      begun();
      if (event === 'changed') for (const id of (JSON.parse(data) as LiveChanged).actions) named.add(id);
      // it read everything again then
      else if (event === 'many' || event === 'resync') isAll = true;
    },
  });
  await isOpen; // it tells of everything from now on
  async function read(): Promise<void> {
    const faults = new Set<string>();
    while (!isOver)
      for (const page of PAGES) {
        const said = await caller.once('GET', page, {
          token: null,
          headers: { cookie, 'muster-tenant': tenant },
        });
        if (said && said.status >= 400 && said.status !== 404)
          faults.add(`${page} was answered ${said.status}`);
        await pause(BETWEEN_MS);
      }
    if (faults.size > 0) throw new Error(`The console was refused: ${[...faults].join(', ')}`);
  }
  const reading = read();
  return {
    async finish() {
      const actions = (await readFeed({ ...playing, token })).flatMap(({ actionId }) => actionId ?? []);
      const missing = () => actions.filter((id) => !named.has(id));
      await inTime(() => isAll || missing().length === 0);
      isOver = true;
      await Promise.all([end(), reading]);
      if (isAll) return [];
      return [...new Set(missing())].map((id) =>
        finding('G43', id, `the console was never told of a change of action ${id}`),
      );
    },
  };
}

async function signIn({ caller, token }: Playing): Promise<{ cookie: string; tenant: string }> {
  for (;;) {
    const response = await fetch(`${caller.url}/api/session`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
    }).catch(() => null);
    const cookie = response?.headers.getSetCookie()[0]?.split(';')[0];
    if (response?.status !== 201 || cookie === undefined) continue;
    const { tenant } = (await response.json()) as { tenant: { id: string } };
    return { cookie, tenant: tenant.id };
  }
}

async function readFeed({ caller, token }: Pick<Playing, 'caller' | 'token'>): Promise<FeedEvent[]> {
  const all: FeedEvent[] = [];
  for (let cursor = 'start', more = true; more; ) {
    const { body } = await caller.surely(
      'GET',
      `/api/events?limit=500&cursor=${encodeURIComponent(cursor)}`,
      {
        token,
      },
    );
    all.push(...(body as FeedPage).events);
    ({ cursor, more } = body as FeedPage);
  }
  return all;
}

async function inTime(isSo: () => boolean): Promise<void> {
  const until = performance.now() + PATIENCE_MS;
  while (!isSo() && performance.now() < until) await pause(20);
}
