import { api } from '@muster/contracts';
import { only } from '../../http/access.ts';
import { defineRoute, type Route } from '../../http/define-route.ts';
import type { createCheckin } from './checkin.ts';

export function checkinRoute(checkIn: ReturnType<typeof createCheckin>): Route {
  return defineRoute(api.checkin.checkIn, {
    access: only('device'),
    handler: ({ body, caller, request, reply }) => checkIn(body, caller, { request, reply }),
  });
}
