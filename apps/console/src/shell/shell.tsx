import { Outlet, useRouterState } from '@tanstack/react-router';
import { useEffect } from 'react';
import { useLive } from '../live/live.tsx';
import { Button } from '../ui/button.tsx';
import { useNow } from '../words/clock.ts';
import { Foot } from './foot.tsx';
import { Navigation } from './navigation.tsx';

/** The frame of every page: where one can go on the left, above on a phone; what is live below. */
export function Shell() {
  const path = useRouterState({ select: (state) => state.location.pathname });
  // biome-ignore lint/correctness/useExhaustiveDependencies: with each page
  useEffect(() => {
    // newer browsers answer with a promise, which is no way to clean up
    void window.scrollTo(0, 0);
  }, [path]);
  return (
    <div className="min-h-dvh md:grid md:grid-cols-[208px_minmax(0,1fr)]">
      <a
        href="#main"
        className="sr-only z-50 rounded-control bg-ink px-3 py-2 text-surface focus:not-sr-only focus:fixed focus:top-2 focus:left-2"
      >
        To the page
      </a>
      <header className="sticky top-0 z-30 border-b bg-surface md:flex md:h-dvh md:flex-col md:border-r md:border-b-0">
        <div className="hidden items-center gap-2 px-4 pt-4 pb-2 text-lead font-semibold md:flex">Muster</div>
        <div className="md:min-h-0 md:flex-1 md:overflow-y-auto">
          <Navigation />
        </div>
        <div className="hidden md:block">
          <Foot />
        </div>
      </header>
      <div className="min-w-0">
        <Bars />
        <main id="main" className="mx-auto max-w-page p-4 pb-12 md:p-6">
          <Outlet />
        </main>
        <footer className="md:hidden">
          <Foot />
        </footer>
      </div>
    </div>
  );
}

/** What concerns every page: no longer live for a minute, or another version is there. */
function Bars() {
  const { isLive, heardAt, version } = useLive();
  const now = useNow();
  const isOld = !isLive && now - heardAt > 60_000;
  const isNew = version !== undefined && firstVersion(version) !== version;
  if (!isOld && !isNew) return null;
  return (
    <div
      role="status"
      className="flex flex-wrap items-center gap-3 border-b bg-amber-tint px-4 py-2 text-amber-text"
    >
      {isOld ? 'Not live for more than a minute: what is shown may be old.' : `The server is now ${version}.`}
      {isNew && !isOld && <Button onClick={() => location.reload()}>Reload</Button>}
    </div>
  );
}

let first: string | undefined;
function firstVersion(version: string): string {
  first ??= version;
  return first;
}
