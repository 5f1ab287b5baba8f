import { api, type DeviceEnrolment } from '@muster/contracts';
import type { Queryable } from '@muster/engine';
import type { Audit } from '../audit/audit.ts';
import { only } from '../http/access.ts';
import { defineRoute, type Route } from '../http/define-route.ts';
import { created } from '../http/replies.ts';
import type { Caller } from '../tokens/caller.ts';
import { refusedOr } from './device-routes.ts';
import type { DeviceQueries } from './queries.ts';
import type { Registry } from './registry.ts';

/** Devices that register themselves, any number with one token. The restrictions of the token apply to all of them. */
interface Enrolment {
  readonly tags?: readonly string[];
  /** Whether a known device may enrol again; without it, the token cannot be used to take a device over. */
  readonly reEnrol?: boolean;
}

export function enrolmentRoutes(tools: {
  audit: Audit;
  queries: DeviceQueries;
  registry: Registry;
}): Route[] {
  const { audit, queries, registry } = tools;

  async function enrol(tx: Queryable, caller: Caller, body: DeviceEnrolment) {
    const { tenantId, name: by } = caller;
    const { tags = [], reEnrol = false } = (caller.restriction ?? {}) as Enrolment;
    const wanted = { ...body, tags: [...tags, ...(body.tags ?? [])] };
    const [answer] = await registry.register(tx, { tenantId, by, known: 'refuse' }, [wanted]);
    const isKnown = answer && 'refused' in answer && answer.refused === 'EXISTS';
    if (!isKnown || !reEnrol) return { ...refusedOr(answer), name: body.name };
    const externalId = body.externalId as string;
    const device = (await queries.lockByExternalId(tx, tenantId, [externalId])).get(externalId);
    if (!device) return { ...refusedOr(undefined), name: body.name };
    const deviceToken = await registry.reEnrol(tx, tenantId, device, by);
    return { deviceId: device.deviceId, name: device.name, deviceToken };
  }

  return [
    defineRoute(api.devices.enrol, {
      access: only('device-enrolment'),
      async handler({ body, caller, reply }) {
        const { deviceId, name, deviceToken } = await audit.change(
          caller,
          (tx) => enrol(tx, caller, body),
          (device) => ({ act: 'device.enrol', target: `device ${device.deviceId}`, detail: body }),
        );
        created(reply);
        return { id: deviceId, name, deviceToken };
      },
    }),
  ];
}
