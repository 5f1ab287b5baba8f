import { MusterError, refusalOf } from '@muster/client';
import type { FeedEvent } from '@muster/contracts';
import { Option } from 'commander';
import { EventSource } from 'eventsource';
import { EXIT } from './exit-codes.ts';
import { type Group, OPTIONS } from './run.ts';
import type { Session } from './session.ts';

interface Tailing {
  readonly target?: string;
  readonly kind?: string;
  readonly type?: string;
  readonly from?: string;
}

export function eventCommands(group: Group): void {
  group.add(
    'tail',
    'Follow events until Ctrl-C; with --json one event per line',
    [
      new Option('--target <target>', 'only of a target (device:12, generic:night-jobs) or a tag'),
      OPTIONS.kind(),
      new Option('--type <type>', 'only of this type, such as FAILED_FINAL'),
      new Option('--from <cursor>', 'start after this cursor, or at "start" (default: from now on)'),
    ],
    tail,
  );
}

/** Reconnects after a lost connection and misses nothing: the library sends the last cursor. */
async function tail(session: Session, { from, ...filter }: Tailing): Promise<number> {
  const query = new URLSearchParams(
    Object.entries({ ...filter, cursor: from ?? 'end' }).filter(([, v]) => v),
  );
  const address = `${session.url.replace(/\/+$/, '')}/api/events?${query}`;
  return new Promise((resolve, reject) => {
    let refusal: MusterError | undefined;
    const source = new EventSource(address, {
      async fetch(url, init) {
        const headers = { ...init.headers, authorization: `Bearer ${session.token}` };
        const response = await fetch(url, { ...init, headers });
        // the library reports only the status
        if (!response.ok) refusal = await refusalOf(response.clone());
        return response;
      },
    });
    const end = (finish: () => void) => {
      source.close();
      finish();
    };
    source.onmessage = ({ data }) => {
      if (!data) return;
      const event = JSON.parse(data) as FeedEvent;
      session.show(event, () => [line(event)]);
    };
    // the server says why it ends a stream: a revoked token, a restored database
    source.addEventListener('refused', ({ data }) => {
      const { error, code } = JSON.parse(data);
      end(() => reject(new MusterError({ code, status: 401, message: error, retryAfter: null })));
    });
    source.onerror = ({ code, message }) => {
      if (source.readyState !== EventSource.CLOSED) return session.note(`Connection lost: ${message}`);
      const silence = { code: null, status: code ?? 503, message: message ?? 'No answer.', retryAfter: null };
      end(() => reject(refusal ?? new MusterError(silence)));
    };
    session.signal?.addEventListener('abort', () => end(() => resolve(EXIT.done)), { once: true });
  });
}

function line({ at, type, actionId, target, kind, attempt, worker, reason }: FeedEvent): string {
  const parts = [at, type.padEnd(15), target ?? '-', kind ?? '-', actionId ?? '-'];
  const more = [attempt > 0 ? `attempt ${attempt}` : '', worker ?? '', reason ?? ''].filter(Boolean);
  return [...parts, ...more].join('  ');
}
