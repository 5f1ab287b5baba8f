import { EngineError } from '@muster/engine';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { MusterError } from '../../errors.ts';
import type { EventStream } from '../../events/event-stream.ts';
import type { Page } from '../../events/recent-events.ts';
import type { StreamPlaces } from '../../events/stream-places.ts';
import { drained } from '../../http/drained.ts';
import type { Log } from '../../http/logging.ts';
import type { LongPolls } from '../../http/long-poll.ts';
import { type Filter, wanted, wireEvent } from './wire.ts';

/**
 * Streams of server-sent events. The id of each message is the cursor after it, so a client that reconnects continues
 * there. What a client does not read fast enough is not buffered: it is read from the feed again when there is room.
 */
interface Options {
  readonly log: Log;
  readonly longPolls: LongPolls;
  readonly places: StreamPlaces;
  readonly stream: EventStream;
}

/** A keep-alive, for proxies and for the client's cursor. */
const SIGN_MS = 15_000;
const COME_BACK_MS = 2_000;
/** Longer than any stream lasts. */
const FOREVER_SECONDS = 7 * 86_400;

export class SseStreams {
  readonly #options: Options;

  constructor(options: Options) {
    this.#options = options;
  }

  async open(
    { request, reply }: { request: FastifyRequest; reply: FastifyReply },
    from: { tenantId: number; cursor: string },
    filter: Filter,
  ): Promise<void> {
    const { longPolls, places, stream } = this.#options;
    const leave = places.enter(from.tenantId);
    try {
      // an invalid cursor is refused before the stream begins
      await stream.page({ ...from, limit: 1 });
      await longPolls.run(
        request,
        FOREVER_SECONDS,
        ({ signal = AbortSignal.abort() }) => this.#send(reply, { ...from, signal }, filter),
        undefined,
      );
    } catch (error) {
      if (!reply.raw.headersSent) throw error;
      this.#sayWhy(reply, error);
    } finally {
      leave();
      if (reply.raw.headersSent) reply.raw.end();
    }
  }

  async #send(
    reply: FastifyReply,
    from: { tenantId: number; cursor: string; signal: AbortSignal },
    filter: Filter,
  ): Promise<void> {
    const { raw } = reply;
    const isWanted = wanted(filter);
    reply.hijack();
    raw.writeHead(200, {
      ...(reply.getHeaders() as Record<string, string>),
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    });
    // a client that reconnects before any event also continues from here
    let { cursor } = from;
    raw.write(`retry: ${COME_BACK_MS}\nid: ${cursor}\n\n`);
    const sign = setInterval(() => {
      if (!raw.writableNeedDrain) raw.write(`id: ${cursor}\n\n`);
    }, SIGN_MS);
    try {
      for await (const page of this.#options.stream.follow(from)) {
        cursor = page.cursor;
        const text = messages(page, isWanted);
        if (text !== '' && !raw.write(text)) await drained(raw, from.signal);
      }
    } finally {
      clearInterval(sign);
    }
  }

  #sayWhy(reply: FastifyReply, error: unknown): void {
    const known = error instanceof MusterError || error instanceof EngineError;
    if (!known) this.#options.log.warn({ err: error }, 'An event stream was interrupted.');
    const said = known
      ? { error: error.message, code: error.code }
      : { error: 'The stream was interrupted. Reconnect.', code: 'MUSTER_INTERNAL' };
    reply.raw.write(`event: refused\ndata: ${JSON.stringify(said)}\n\n`);
  }
}

function messages({ events }: Page, isWanted: ReturnType<typeof wanted>): string {
  let text = '';
  for (const event of events)
    if (isWanted(event)) text += `id: ${event.cursor}\ndata: ${JSON.stringify(wireEvent(event))}\n\n`;
  return text;
}
