/**
 * Which tab leads: the leader claims for idle bots, the others follow. It holds a Web Lock; without HTTPS browsers have none, and the
 * leader announces itself every second instead: a tab that hears nothing for three seconds takes over.
 */
export interface Lead {
  stop(): void;
}

const BEAT_MS = 1_000;
const SILENCE_MS = 3_000;

export function lead(name: string, tell: (isLeader: boolean) => void): Lead {
  return navigator.locks === undefined ? leadByBeats(name, tell) : leadByLock(name, tell);
}

function leadByLock(name: string, tell: (isLeader: boolean) => void): Lead {
  const ending = new AbortController();
  let release = () => {};
  navigator.locks
    .request(name, { signal: ending.signal }, () => {
      tell(true);
      return new Promise<void>((end) => {
        release = end;
      });
    })
    // stopped before its turn came
    .catch(() => {});
  return {
    stop() {
      ending.abort();
      release();
      tell(false);
    },
  };
}

interface Beat {
  readonly id: string;
  readonly leaves?: boolean;
}

function leadByBeats(name: string, tell: (isLeader: boolean) => void): Lead {
  const channel = new BroadcastChannel(name);
  const id = `${Date.now()}-${Math.random()}`;
  let isLeader = false;
  let heardAt = Date.now();
  const become = (next: boolean) => {
    if (next === isLeader) return;
    isLeader = next;
    tell(next);
  };
  const beat = (leaves = false) => channel.postMessage({ id, leaves } satisfies Beat);
  channel.onmessage = ({ data }: MessageEvent<Beat>) => {
    if (data.leaves) {
      heardAt = 0;
      return;
    }
    // two started at once: the older one stays
    if (isLeader && data.id > id) return beat();
    heardAt = Date.now();
    become(false);
  };
  const timer = setInterval(() => {
    if (!isLeader && Date.now() - heardAt > SILENCE_MS) become(true);
    if (isLeader) beat();
  }, BEAT_MS);
  const leave = () => {
    if (isLeader) beat(true);
  };
  addEventListener('pagehide', leave);
  return {
    stop() {
      removeEventListener('pagehide', leave);
      clearInterval(timer);
      leave();
      channel.close();
      become(false);
    },
  };
}
