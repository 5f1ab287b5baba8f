import { api } from '@muster/contracts';
import { whileLocked } from '@muster/engine';
import type { SigningKeys } from '../../callbacks/signing-keys.ts';
import type { Shell } from '../../feature.ts';
import { operators } from '../../http/access.ts';
import { defineRoute, type Route } from '../../http/define-route.ts';

/** A key can sign in our name, so only admins see them. */
const admins = operators('admin');
const shown = ({ current, next }: SigningKeys) => ({ current, next });

export function keyRoutes({ audit, callbacks: { keys }, db }: Shell): Route[] {
  return [
    defineRoute(api.callbacks.keys, {
      access: admins,
      handler: async ({ caller }) => shown(await whileLocked(db, (tx) => keys.ensure(tx, caller.tenantId))),
    }),
    defineRoute(api.callbacks.rotateKeys, {
      access: admins,
      handler: async ({ caller }) =>
        shown(
          await audit.change(caller, (tx) => keys.rotate(tx, caller.tenantId), {
            act: 'callback.rotate-keys',
          }),
        ),
    }),
  ];
}
