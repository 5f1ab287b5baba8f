import { Wifi, WifiOff } from 'lucide-react';
import { classes } from './classes.ts';
import { Time } from './time.tsx';

/** Whether it is online, and its last contact. */
export function Presence({ online, lastSeenAt }: { online: boolean; lastSeenAt: string | null }) {
  const Icon = online ? Wifi : WifiOff;
  return (
    <span
      className={classes(
        'inline-flex items-center gap-1 text-table whitespace-nowrap',
        online ? 'text-green-text' : 'text-slate-text',
      )}
    >
      <Icon aria-hidden size={14} />
      <span>
        {online ? 'online' : 'offline'}
        <span className="text-ink-3">, {lastSeenAt ? <Time at={lastSeenAt} /> : 'never seen'}</span>
      </span>
    </span>
  );
}
