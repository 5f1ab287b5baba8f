import type { FastifyReply } from 'fastify';
import type { EventStream } from '../../events/event-stream.ts';
import type { Page } from '../../events/recent-events.ts';
import { beginStream } from '../../events/server-sent.ts';
import { drained } from '../../http/drained.ts';
import { type Filter, wanted, wireEvent } from './wire.ts';

/**
 * Streams of server-sent events. The id of each message is the cursor after it, so a client that reconnects continues
 * there. What a client does not read fast enough is not buffered: it is read from the feed again when there is room.
 */
/** A keep-alive, for proxies and for the client's cursor. */
const SIGN_MS = 15_000;
const COME_BACK_MS = 2_000;

export async function streamEvents(
  stream: EventStream,
  reply: FastifyReply,
  from: { tenantId: number; cursor: string; signal: AbortSignal },
  filter: Filter,
): Promise<void> {
  // an invalid cursor is refused before the stream begins
  await stream.page({ ...from, limit: 1 });
  const { raw } = reply;
  const isWanted = wanted(filter);
  // a client that reconnects before any event also continues from here
  let { cursor } = from;
  beginStream(reply, COME_BACK_MS, cursor);
  const sign = setInterval(() => {
    if (!raw.writableNeedDrain) raw.write(`id: ${cursor}\n\n`);
  }, SIGN_MS);
  try {
    for await (const page of stream.follow(from)) {
      cursor = page.cursor;
      const text = messages(page, isWanted);
      if (text !== '' && !raw.write(text)) await drained(raw, from.signal);
    }
  } finally {
    clearInterval(sign);
  }
}

function messages({ events }: Page, isWanted: ReturnType<typeof wanted>): string {
  let text = '';
  for (const event of events)
    if (isWanted(event)) text += `id: ${event.cursor}\ndata: ${JSON.stringify(wireEvent(event))}\n\n`;
  return text;
}
