import { Outlet, useRouterState } from '@tanstack/react-router';
import { Keyboard, Search } from 'lucide-react';
import { lazy, type ReactNode, Suspense, useCallback, useEffect, useState } from 'react';
import { useLive } from '../live/live.tsx';
import { Button } from '../ui/button.tsx';
import { useNow } from '../words/clock.ts';
import { Foot } from './foot.tsx';
import { useKeys } from './keys.ts';
import { Navigation } from './navigation.tsx';

const Palette = lazy(() => import('./palette.tsx'));
const KeyHelp = lazy(() => import('./key-help.tsx'));

/** The frame of every page: navigation on the left, above on a phone; the live state below. */
export function Shell() {
  const path = useRouterState({ select: (state) => state.location.pathname });
  const [open, setOpen] = useState<'palette' | 'keys'>();
  const close = useCallback(() => setOpen(undefined), []);
  useKeys(setOpen);
  // biome-ignore lint/correctness/useExhaustiveDependencies: with each page
  useEffect(() => {
    // newer browsers return a promise, which is not a cleanup function
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
        <div className="hidden items-center justify-between gap-1 pt-4 pr-3 pb-2 pl-4 text-lead font-semibold md:flex">
          <span className="mr-auto">Muster</span>
          <IconButton label="Keys" hint="Keys (?)" onClick={() => setOpen('keys')}>
            <Keyboard aria-hidden size={16} />
          </IconButton>
          <IconButton label="Find" hint="Find (Ctrl K)" onClick={() => setOpen('palette')}>
            <Search aria-hidden size={16} />
          </IconButton>
        </div>
        <div className="flex items-center md:block md:min-h-0 md:flex-1 md:overflow-y-auto">
          <button
            type="button"
            aria-label="Find"
            onClick={() => setOpen('palette')}
            className="ml-2 inline-flex size-touch shrink-0 items-center justify-center rounded-control border-r text-ink-2 md:hidden"
          >
            <Search aria-hidden size={16} />
          </button>
          <div className="min-w-0 flex-1">
            <Navigation />
          </div>
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
      <Suspense>
        {open === 'palette' && <Palette onClose={close} />}
        {open === 'keys' && <KeyHelp onClose={close} />}
      </Suspense>
    </div>
  );
}

function IconButton(props: { label: string; hint: string; onClick: () => void; children: ReactNode }) {
  return (
    <button
      type="button"
      aria-label={props.label}
      title={props.hint}
      onClick={props.onClick}
      className="inline-flex size-6 items-center justify-center rounded-control text-ink-2 hover:bg-sunken"
    >
      {props.children}
    </button>
  );
}

/** Notices for every page: nothing could be read for a minute, or the server has another version. */
function Bars() {
  const { isLive, dataAt, version } = useLive();
  const now = useNow();
  const isOld = !isLive && now - dataAt > 60_000;
  const isNew = version !== undefined && firstVersion(version) !== version;
  if (!isOld && !isNew) return null;
  return (
    <div
      role="status"
      className="flex flex-wrap items-center gap-3 border-b bg-amber-tint px-4 py-2 text-amber-text"
    >
      {isOld
        ? 'Nothing could be read for more than a minute: this page may be out of date.'
        : `The server is now ${version}.`}
      {isNew && !isOld && <Button onClick={() => location.reload()}>Reload</Button>}
    </div>
  );
}

let first: string | undefined;
function firstVersion(version: string): string {
  first ??= version;
  return first;
}
