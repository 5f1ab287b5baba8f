import { useQueryClient } from '@tanstack/react-query';
import { CircleUser, Globe, Monitor, Moon, Sun } from 'lucide-react';
import { ask } from '../api/ask.ts';
import { useLive } from '../live/live.tsx';
import { useSession } from '../session/session.tsx';
import { samePageOf } from '../session/tenant.ts';
import { classes } from '../ui/classes.ts';
import { Menu } from '../ui/menu.tsx';
import { useNow } from '../words/clock.ts';
import { clock } from '../words/times.ts';
import { useZone } from '../words/zone.ts';
import { type Theme, useTheme } from './theme.ts';

const NEXT: Readonly<Record<Theme, Theme>> = { system: 'light', light: 'dark', dark: 'system' };
const ICON = { system: Monitor, light: Sun, dark: Moon } as const;

/** Whether the page is live, the theme, the time zone, and the sign-in. */
export function Foot() {
  const [theme, setTheme] = useTheme();
  const [zone, setZone] = useZone();
  const Icon = ICON[theme];
  const button =
    'inline-flex h-6 items-center gap-1 rounded-control px-1 text-label text-ink-2 hover:bg-sunken';
  return (
    <div className="flex flex-wrap items-center gap-x-2 gap-y-1 border-t px-4 py-3 text-label text-ink-3 md:flex-col md:items-start">
      <LiveLine />
      <div className="flex items-center gap-1">
        <button
          type="button"
          className={button}
          onClick={() => setTheme(NEXT[theme])}
          title={`Theme: ${theme}`}
        >
          <Icon aria-hidden size={14} /> {theme}
        </button>
        <button type="button" className={button} onClick={() => setZone(zone === 'utc' ? 'local' : 'utc')}>
          <Globe aria-hidden size={14} /> {zone === 'utc' ? 'UTC' : 'local time'}
        </button>
      </div>
      <Who />
    </div>
  );
}

function LiveLine() {
  const { isCut, isLive, lag, heardAt, dataAt } = useLive();
  const [zone] = useZone();
  const now = useNow();
  const isLost = !isLive && now - heardAt > 5_000;
  return (
    <span className="inline-flex items-center gap-1">
      <span
        aria-hidden
        className={classes(
          'size-2 shrink-0 rounded-round',
          isLost ? 'bg-amber-fill' : isLive ? 'bg-green-fill' : 'bg-slate-fill',
        )}
      />
      {isLost
        ? `${isCut ? 'no answer' : 'read every 10 s'} · data of ${clock(dataAt, zone)}`
        : isLive
          ? `live · ${lag.toFixed(1)} s behind`
          : 'connecting'}
    </span>
  );
}

function Who() {
  const { mine, all } = useSession();
  const queries = useQueryClient();
  const others = all.signIns.filter((one) => one.tenant.id !== mine.tenant.id);
  const signOut = async () => {
    await ask('DELETE', '/api/session');
    queries.clear();
    location.reload();
  };
  return (
    <div className="flex max-w-full min-w-0 items-center gap-1 md:w-full">
      {/* the name may be cut, the role never */}
      <div
        className="min-w-0 md:flex-1"
        title={`Signed in as ${mine.name}, ${mine.role} of ${mine.tenant.name}`}
      >
        <p className="truncate text-ink-2">{mine.name}</p>
        <p className="truncate">
          {mine.role}
          {all.signIns.length > 1 && ` · ${mine.tenant.name}`}
        </p>
      </div>
      <Menu
        label="Sign-ins"
        small
        up
        items={[
          ...others.map((one) => ({
            word: `Go to ${one.tenant.name} (${one.role})`,
            act: () => location.assign(samePageOf(one.tenant.name)),
          })),
          { word: 'Sign in to another tenant', act: () => location.assign('/sign-in') },
          { word: `Sign out of ${mine.tenant.name}`, act: () => void signOut() },
        ]}
      >
        <CircleUser aria-hidden size={14} />
      </Menu>
    </div>
  );
}
