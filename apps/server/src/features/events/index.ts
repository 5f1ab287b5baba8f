import { api } from '@muster/contracts';
import { FEED_ERRORS } from '@muster/contracts/words';
import { Gauge } from 'prom-client';
import { serveStream } from '../../events/server-sent.ts';
import type { CreateFeature } from '../../feature.ts';
import { operators } from '../../http/access.ts';
import { defineRoute } from '../../http/define-route.ts';
import { streamEvents } from './sse.ts';
import { readPlace, wanted, wireEvent } from './wire.ts';

/** The event feed: pages by cursor, or a stream. */
export const events: CreateFeature = ({
  engine,
  events: stream,
  log,
  longPolls,
  registry,
  streamPlaces: places,
}) => {
  new Gauge({
    name: 'muster_event_streams',
    help: 'Open event streams.',
    registers: [registry],
    collect() {
      this.set(places.count);
    },
  });
  return {
    name: 'events',
    errors: FEED_ERRORS,
    routes: [
      defineRoute(api.feed.read, {
        access: operators('viewer'),
        async handler({ caller, query, request, reply }) {
          const { tenantId } = caller;
          if (wantsStream(request.headers.accept)) {
            const last = request.headers['last-event-id'];
            const given = typeof last === 'string' && last !== '' ? last : query.cursor;
            const cursor = await readPlace(engine, given ?? 'end');
            return serveStream({ log, longPolls, places }, { request, reply }, tenantId, (signal) =>
              streamEvents(stream, reply, { tenantId, cursor, signal }, query),
            );
          }
          const page = await stream.page({
            tenantId,
            cursor: await readPlace(engine, query.cursor ?? 'start'),
            limit: query.limit ?? DEFAULT_LIMIT,
          });
          return { ...page, events: page.events.filter(wanted(query)).map(wireEvent) };
        },
      }),
    ],
  };
};

const DEFAULT_LIMIT = 100;

/** A type with `q=0` is one that the client does not want. */
function wantsStream(accept = ''): boolean {
  return /text\/event-stream(?!\s*;\s*q=0(\.0*)?\s*(,|$))/i.test(accept);
}
