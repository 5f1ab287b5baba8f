import { useQueryClient } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from 'react';
import { Refused } from '../api/refused.ts';
import { useHas, useSession } from '../session/session.tsx';
import { heardTime } from '../words/clock.ts';
import { holdStream } from './hold-stream.ts';
import type { Told } from './messages.ts';
import { createRefresher } from './refresher.ts';

export interface LiveState {
  readonly isLive: boolean;
  /** How many seconds the events lag. */
  readonly lag: number;
  /** When the stream last sent something. */
  readonly heardAt: number;
  /** When the shown data was last read, or known to be unchanged. */
  readonly dataAt: number;
  readonly version: string | undefined;
  /** The last request got no answer. */
  readonly isCut: boolean;
}

const HIDDEN_MS = 10_000;
const POLL_MS = 10_000;
/** Changes without an event of an action have no hint: a new token, a changed webhook. */
const LOOK_MS = 30_000;

const Context = createContext<LiveState>({
  isLive: false,
  lag: 0,
  heardAt: 0,
  dataAt: 0,
  version: undefined,
  isCut: false,
});
export const useLive = () => useContext(Context);

/** Hints from the stream; without it, shown data is read every ten seconds. A hidden tab asks nothing. */
export function LiveProvider({ children }: { children: ReactNode }) {
  const queries = useQueryClient();
  const { mine } = useSession();
  const [state, setState] = useState<LiveState>(() => ({
    isLive: false,
    lag: 0,
    heardAt: Date.now(),
    dataAt: Date.now(),
    version: undefined,
    isCut: false,
  }));
  const tenant = mine.tenant.id;
  const has = useHas('live');

  useEffect(() => {
    const refresher = createRefresher(queries);
    let isLive = false;
    let isHidden = false;
    let hide: ReturnType<typeof setTimeout> | undefined;

    const take = (told: Told) => {
      if (told.type === 'tick') {
        heardTime(told.tick.now, Date.now());
        const { lag, version } = told.tick;
        isLive = true;
        setState({ isLive: true, lag, heardAt: Date.now(), dataAt: Date.now(), version, isCut: false });
        return;
      }
      if (told.type === 'changed' || told.type === 'many') {
        refresher.hint();
        return;
      }
      const wasLive = isLive;
      isLive = told.type === 'open';
      // read what happened while the stream was closed
      if (isLive && !wasLive) refresher.hint();
      setState((before) => ({ ...before, isLive, heardAt: isLive ? Date.now() : before.heardAt }));
    };
    const held = has ? holdStream(tenant, take) : { want: () => {} };
    const seen = () => {
      clearTimeout(hide);
      if (document.hidden) {
        hide = setTimeout(() => {
          isHidden = true;
          refresher.stop();
          held.want(false);
        }, HIDDEN_MS);
        return;
      }
      if (isHidden) void queries.invalidateQueries({ type: 'active' });
      isHidden = false;
      held.want(true);
    };
    const poll = setInterval(() => {
      if (!isLive && !isHidden) refresher.hint();
    }, POLL_MS);
    const look = setInterval(() => {
      if (!isHidden) refresher.hint();
    }, LOOK_MS);
    // without the stream, shown data is as new as the last answer
    const unsubscribe = queries.getQueryCache().subscribe((event) => {
      if (isLive || event.type !== 'updated') return;
      const { action } = event;
      if (action.type === 'success') setState((before) => ({ ...before, dataAt: Date.now(), isCut: false }));
      const noAnswer =
        (action.type === 'error' || action.type === 'failed') && !(action.error instanceof Refused);
      if (noAnswer) setState((before) => (before.isCut ? before : { ...before, isCut: true }));
    });
    document.addEventListener('visibilitychange', seen);
    held.want(true);
    return () => {
      unsubscribe();
      clearInterval(poll);
      clearInterval(look);
      clearTimeout(hide);
      document.removeEventListener('visibilitychange', seen);
      refresher.stop();
      held.want(false);
    };
  }, [queries, tenant, has]);

  return <Context value={useMemo(() => state, [state])}>{children}</Context>;
}
