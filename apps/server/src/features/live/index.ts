import { api } from '@muster/contracts';
import type { CreateFeature } from '../../feature.ts';
import { operators } from '../../http/access.ts';
import { defineRoute } from '../../http/define-route.ts';
import { catchUp } from './catch-up.ts';
import { LiveStreams } from './live-streams.ts';
import { Ticks } from './ticks.ts';

/** One stream per browser, for pages that show current state. */
export const live: CreateFeature = (shell) => {
  const { engine, events: stream, longPolls, log, signIns, streamPlaces: places, tokens } = shell;
  const ticks = new Ticks({ engine, log });
  const streams = new LiveStreams({ log, longPolls, places, signIns, stream, ticks, tokens });
  return {
    name: 'live',
    routes: [
      defineRoute(api.live.follow, {
        access: operators('viewer'),
        async handler({ caller: { tenantId }, query, request, reply }) {
          const last = request.headers['last-event-id'];
          const from = typeof last === 'string' && last !== '' ? last : query.cursor;
          return streams.open({ request, reply }, tenantId, await catchUp(engine, tenantId, from));
        },
      }),
    ],
  };
};
