import { EngineError } from '@muster/engine';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { MusterError } from '../../errors.ts';
import type { EventStream } from '../../events/event-stream.ts';
import type { StreamPlaces } from '../../events/stream-places.ts';
import { refusalOf } from '../../http/auth.ts';
import type { Log } from '../../http/logging.ts';
import type { LongPolls } from '../../http/long-poll.ts';
import type { SignIns } from '../../tokens/sign-ins.ts';
import type { Tokens } from '../../tokens/tokens.ts';
import type { Place } from './catch-up.ts';
import { Hints } from './hints.ts';
import { Paced } from './paced.ts';
import { TICK_MS, type Ticks } from './ticks.ts';

/**
 * Streams of hints for pages: that something has changed, never its new state. So rights are checked only by the routes
 * that show it, and a busy fleet costs a page two messages a second.
 */
interface Tools {
  readonly log: Log;
  readonly longPolls: LongPolls;
  readonly places: StreamPlaces;
  readonly signIns: SignIns;
  readonly stream: EventStream;
  readonly ticks: Ticks;
  readonly tokens: Tokens;
}

const PAUSE_MS = 500;
const COME_BACK_MS = 1_000;
/** A client that reads nothing for this long is cut off. */
const PATIENCE_MS = 60_000;
const FOREVER_SECONDS = 7 * 86_400;

export class LiveStreams {
  readonly #tools: Tools;

  constructor(tools: Tools) {
    this.#tools = tools;
  }

  async open(
    { request, reply }: { request: FastifyRequest; reply: FastifyReply },
    tenantId: number,
    place: Place,
  ): Promise<void> {
    const leave = this.#tools.places.enter(tenantId);
    try {
      await this.#tools.longPolls.run(
        request,
        FOREVER_SECONDS,
        ({ signal = AbortSignal.abort() }) => this.#send(request, reply, { tenantId, ...place, signal }),
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
    request: FastifyRequest,
    reply: FastifyReply,
    from: Place & { tenantId: number; signal: AbortSignal },
  ): Promise<void> {
    const { signIns, stream, ticks, tokens } = this.#tools;
    const { raw } = reply;
    const first = await ticks.now();
    reply.hijack();
    raw.writeHead(200, {
      ...(reply.getHeaders() as Record<string, string>),
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    });
    raw.write(`retry: ${COME_BACK_MS}\n\n`);

    const over = new AbortController();
    const hints = new Hints();
    let { cursor } = from;
    let tick: object | null = first;
    let resync = from.missed === 'resync';
    if (from.missed === 'many') hints.addMany();
    let roomSince = performance.now();
    // the cursor of what was sent: a tick must not skip hints that wait for their turn
    let told = cursor;
    const write = (event: string, data: object) => {
      if (hints.isEmpty) told = cursor;
      raw.write(`event: ${event}\nid: ${told}\ndata: ${JSON.stringify(data)}\n\n`);
    };
    const paced = new Paced({
      pauseMs: PAUSE_MS,
      hasRoom: () => !raw.writableNeedDrain,
      send() {
        if (resync) write('resync', {});
        else if (tick) write('tick', tick);
        else {
          const hint = hints.take();
          if (!hint) return false;
          write(hint.event, hint.data);
        }
        if (resync) resync = false;
        else tick = null;
        return true;
      },
    });
    raw.on('drain', () => paced.soon());
    const isOver = async () => request.session !== null && (await signIns.find(request.session)) === null;
    const leave = ticks.listen((next) => {
      tick = next;
      if (!raw.writableNeedDrain) roomSince = performance.now();
      else if (performance.now() - roomSince > PATIENCE_MS + TICK_MS) raw.destroy();
      // signed out, or the sign-in has expired, of which there is no notification
      isOver().then(
        (yes) => yes && over.abort(),
        () => {},
      );
      paced.soon();
    });
    try {
      paced.soon();
      const signal = AbortSignal.any([from.signal, over.signal]);
      for await (const page of stream.follow({ tenantId: from.tenantId, cursor, signal })) {
        cursor = page.cursor;
        hints.add(page);
        if (!hints.isEmpty) paced.soon();
      }
      if (over.signal.aborted) throw await refusalOf(request, tokens);
    } finally {
      leave();
      paced.stop();
    }
  }

  #sayWhy(reply: FastifyReply, error: unknown): void {
    const known = error instanceof MusterError || error instanceof EngineError;
    if (!known) this.#tools.log.warn({ err: error }, 'A stream of hints was interrupted.');
    const said = known
      ? { error: error.message, code: error.code }
      : { error: 'The stream was interrupted. Reconnect.', code: 'MUSTER_INTERNAL' };
    reply.raw.write(`event: refused\ndata: ${JSON.stringify(said)}\n\n`);
  }
}
