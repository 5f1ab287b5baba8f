import { EngineError } from '@muster/engine';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { MusterError } from '../errors.ts';
import type { Log } from '../http/logging.ts';
import { FOREVER_SECONDS, type LongPolls } from '../http/long-poll.ts';
import type { StreamPlaces } from './stream-places.ts';

/**
 * What every stream of server-sent events needs: a place, its head, an end when the client, its token or the server
 * stops, and the reason as its last message.
 */
interface Tools {
  readonly log: Log;
  readonly longPolls: LongPolls;
  readonly places: StreamPlaces;
}

export interface Ends {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** `send` calls `beginStream` when nothing can be refused any more, and returns when the stream has ended. */
export async function serveStream(
  { log, longPolls, places }: Tools,
  { request, reply }: Ends,
  tenantId: number,
  send: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const leave = places.enter(tenantId);
  try {
    await longPolls.run(
      request,
      FOREVER_SECONDS,
      ({ signal = AbortSignal.abort() }) => send(signal),
      undefined,
    );
  } catch (error) {
    if (!reply.raw.headersSent) throw error;
    reply.raw.write(`event: refused\ndata: ${JSON.stringify(whyEnded(log, error))}\n\n`);
  } finally {
    leave();
    if (reply.raw.headersSent) reply.raw.end();
  }
}

/** `retryMs`: how soon the client reconnects. */
export function beginStream(reply: FastifyReply, retryMs: number, id = ''): void {
  reply.hijack();
  reply.raw.writeHead(200, {
    ...(reply.getHeaders() as Record<string, string>),
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
  });
  reply.raw.write(`retry: ${retryMs}\n${id === '' ? '' : `id: ${id}\n`}\n`);
}

function whyEnded(log: Log, error: unknown): { error: string; code: string } {
  if (error instanceof MusterError || error instanceof EngineError)
    return { error: error.message, code: error.code };
  log.warn({ err: error }, 'A stream of events was interrupted.');
  return { error: 'The stream was interrupted. Reconnect.', code: 'MUSTER_INTERNAL' };
}
