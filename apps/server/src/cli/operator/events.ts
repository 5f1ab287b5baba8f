import { MusterError } from '@muster/client';
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
    'Show what happens as it happens, until Ctrl-C; with --json one event a line',
    [
      new Option('--target <target>', 'of one target, as device:12 or generic:night-jobs, or with a tag'),
      OPTIONS.kind(),
      new Option('--type <type>', 'of this type, as FAILED_FINAL'),
      new Option('--from <cursor>', 'start, or a cursor of an event (default: from now on)'),
    ],
    tail,
  );
}

/** Comes back after a lost connection and misses nothing: the library sends the last cursor. */
async function tail(session: Session, { from, ...filter }: Tailing): Promise<number> {
  const query = new URLSearchParams(
    Object.entries({ ...filter, cursor: from ?? 'end' }).filter(([, v]) => v),
  );
  const address = `${session.url.replace(/\/+$/, '')}/api/events?${query}`;
  return new Promise((resolve, reject) => {
    const source = new EventSource(address, {
      fetch: (url, init) =>
        fetch(url, { ...init, headers: { ...init.headers, authorization: `Bearer ${session.token}` } }),
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
      if (source.readyState !== EventSource.CLOSED) return session.note(`Lost the server: ${message}`);
      const refusal = { code: null, status: code ?? 503, message: message ?? 'No answer.', retryAfter: null };
      end(() => reject(new MusterError(refusal)));
    };
    session.signal?.addEventListener('abort', () => end(() => resolve(EXIT.done)), { once: true });
  });
}

function line({ at, type, actionId, target, kind, attempt, worker, reason }: FeedEvent): string {
  const parts = [at, type.padEnd(15), target ?? '-', kind ?? '-', actionId ?? '-'];
  const more = [attempt > 0 ? `attempt ${attempt}` : '', worker ?? '', reason ?? ''].filter(Boolean);
  return [...parts, ...more].join('  ');
}
