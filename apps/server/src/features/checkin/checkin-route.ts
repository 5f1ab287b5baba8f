import { only } from '../../http/access.ts';
import { defineRoute, type Route } from '../../http/define-route.ts';
import { checkin } from './answers.ts';
import type { createCheckin } from './checkin.ts';
import { checkinBody } from './schemas.ts';

export function checkinRoute(checkIn: ReturnType<typeof createCheckin>): Route {
  return defineRoute({
    method: 'POST',
    path: '/api/checkin',
    access: only('device'),
    summary: 'A device comes, says how its action went and gets the next one',
    body: checkinBody,
    responses: {
      200: {
        description:
          'At most one action. A result that is unknown, late or of another device changes nothing.',
        schema: checkin,
      },
    },
    handler: ({ body, caller, request, reply }) => checkIn(body, caller, { request, reply }),
  });
}
