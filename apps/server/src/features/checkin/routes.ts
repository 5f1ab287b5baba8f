import { api } from '@muster/contracts';
import type { Engine } from '@muster/engine';
import { only } from '../../http/access.ts';
import { defineRoute, type Route } from '../../http/define-route.ts';
import type { createCheckin } from './checkin.ts';
import { refuseFormer } from './former-token.ts';

export function checkinRoute(engine: Engine, checkIn: ReturnType<typeof createCheckin>): Route {
  return defineRoute(api.checkin.checkIn, {
    access: { ...only('device'), former: refuseFormer(engine) },
    handler: ({ body, caller, request, reply }) => checkIn(body, caller, { request, reply }),
  });
}
