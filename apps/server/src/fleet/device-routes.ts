import { api } from '@muster/contracts';
import type { Engine, Queryable } from '@muster/engine';
import type { Audit } from '../audit/audit.ts';
import { operators } from '../http/access.ts';
import { defineRoute, type Route } from '../http/define-route.ts';
import { isId } from '../http/ids.ts';
import { readPage } from '../http/page.ts';
import { created, gone } from '../http/replies.ts';
import { deviceError, unknownDevice } from './errors.ts';
import type { MilestoneLog } from './milestone-log.ts';
import { type Pcs, unknownPc } from './pcs.ts';
import type { DeviceQueries, DeviceRow } from './queries.ts';
import type { Registered, Registry } from './registry.ts';
import type { DeviceViews } from './views.ts';
import { countMeant } from './who-is-meant.ts';

/** Operations on devices themselves. */
export function deviceRoutes(tools: {
  audit: Audit;
  engine: Engine;
  log: MilestoneLog;
  pcs: Pcs;
  queries: DeviceQueries;
  registry: Registry;
  views: DeviceViews;
}): Route[] {
  const { audit, engine, log, pcs, queries, registry, views } = tools;
  const { db } = engine;

  async function known(client: Queryable, tenantId: number, id: string): Promise<DeviceRow> {
    const row = isId(id) ? await queries.get(client, tenantId, id) : null;
    if (!row) throw unknownDevice();
    return row;
  }

  /** Until the transaction ends, it cannot be deleted. */
  async function locked(tx: Queryable, tenantId: number, id: string): Promise<DeviceRow> {
    if (!isId(id) || !(await log.lock(tx, tenantId, [id], true)).has(id)) throw unknownDevice();
    return known(tx, tenantId, id);
  }

  async function show(row: DeviceRow) {
    const [shown] = await views.show(db, [row]);
    return shown;
  }

  return [
    defineRoute(api.devices.create, {
      access: operators('operator'),
      async handler({ body, caller, reply }) {
        const { tenantId } = caller;
        const { deviceId, deviceToken } = await audit.change(
          caller,
          async (tx) => {
            const [answer] = await registry.register(tx, { tenantId, by: caller.name, known: 'refuse' }, [
              { ...body, expiresAt: body.expiresAt === undefined ? undefined : new Date(body.expiresAt) },
            ]);
            return refusedOr(answer);
          },
          (device) => ({ act: 'device.create', target: `device ${device.deviceId}`, detail: body }),
        );
        created(reply);
        return { ...(await show(await known(db, tenantId, deviceId))), deviceToken };
      },
    }),

    defineRoute(api.devices.list, {
      access: operators('viewer'),
      async handler({ caller, query }) {
        const filter = {
          tenantId: caller.tenantId,
          text: query.text,
          tags: query.tag === undefined ? undefined : [query.tag].flat(),
          state: query.state,
          online: query.online,
          pcId: query.pcId,
          after: query.cursor,
        };
        const { items, cursor } = await readPage(
          query.limit,
          (limit) => queries.list(db, { ...filter, limit }),
          (row) => row.deviceId,
        );
        return { devices: await views.show(db, items), cursor };
      },
    }),

    defineRoute(api.devices.count, {
      access: operators('viewer'),
      handler: async ({ body, caller }) => ({
        count: await countMeant(db, engine.schema, caller.tenantId, body.targets),
      }),
    }),

    defineRoute(api.devices.get, {
      access: operators('viewer'),
      async handler({ caller, params }) {
        const device = await known(db, caller.tenantId, params.id);
        return { ...(await show(device)), instances: await views.instances(db, device) };
      },
    }),

    defineRoute(api.devices.update, {
      access: operators('operator'),
      async handler({ body, caller, params }) {
        const { tenantId } = caller;
        await audit.change(
          caller,
          async (tx) => {
            const before = await known(tx, tenantId, params.id);
            const expiresAt = typeof body.expiresAt === 'string' ? new Date(body.expiresAt) : body.expiresAt;
            const pcId = body.pcId === before.pcId ? undefined : body.pcId;
            // The lane first, like a report that puts its device into error: the opposite order could deadlock.
            if (pcId !== undefined)
              await engine.assignRunner(
                tx,
                { tenantId, laneId: before.laneId },
                await pcs.runnerOf(tx, tenantId, pcId),
              );
            await log.lock(tx, tenantId, [params.id], true);
            await queries
              .update(tx, tenantId, params.id, {
                ...body,
                pcId,
                tags: body.tags && [...new Set(body.tags)],
                expiresAt,
              })
              .catch(alreadyThere);
            if (expiresAt !== undefined && expiresAt?.getTime() !== before.expiresAt?.getTime())
              await log.written(tx, tenantId, 'expirySet', [params.id], caller.name);
          },
          { act: 'device.update', target: `device ${params.id}`, detail: body },
        );
        return show(await known(db, tenantId, params.id));
      },
    }),

    defineRoute(api.devices.clearError, {
      access: operators('operator'),
      async handler({ caller, params }) {
        const { tenantId } = caller;
        await audit.change(
          caller,
          async (tx) => {
            const { laneId, pcId } = await known(tx, tenantId, params.id);
            await queries.clearErrors(tx, tenantId, [params.id]);
            // its PC may have been waiting for this
            await engine.wake(tx, [{ tenantId, laneId, runnerId: await pcs.runnerOf(tx, tenantId, pcId) }]);
          },
          { act: 'device.clear-error', target: `device ${params.id}` },
        );
        return show(await known(db, tenantId, params.id));
      },
    }),

    defineRoute(api.devices.remove, {
      access: operators('operator'),
      async handler({ caller, params, reply }) {
        await audit.change(
          caller,
          async (tx) => {
            if (!isId(params.id) || !(await registry.remove(tx, caller.tenantId, params.id)))
              throw unknownDevice();
          },
          { act: 'device.delete', target: `device ${params.id}` },
        );
        return gone(reply);
      },
    }),

    defineRoute(api.devices.reEnrol, {
      access: operators('operator'),
      async handler({ caller, params, reply }) {
        const { tenantId } = caller;
        const answer = await audit.change(
          caller,
          async (tx) => {
            const row = await locked(tx, tenantId, params.id);
            const deviceToken = await registry.reEnrol(tx, tenantId, row, caller.name);
            return { id: params.id, name: row.name, deviceToken };
          },
          { act: 'device.re-enrol', target: `device ${params.id}` },
        );
        created(reply);
        return answer;
      },
    }),

    defineRoute(api.devices.rotateToken, {
      access: operators('operator'),
      async handler({ caller, params, reply }) {
        const { tenantId } = caller;
        const answer = await audit.change(
          caller,
          async (tx) => {
            const row = await locked(tx, tenantId, params.id);
            const deviceToken = await registry.rotateToken(tx, tenantId, row, caller.name);
            return { id: params.id, name: row.name, deviceToken };
          },
          { act: 'token.rotate', target: `device ${params.id}` },
        );
        created(reply);
        return answer;
      },
    }),

    defineRoute(api.devices.milestones, {
      access: operators('viewer'),
      async handler({ caller, params, query }) {
        await known(db, caller.tenantId, params.id);
        const { items, cursor } = await readPage(
          query.limit,
          (limit) => log.list(db, caller.tenantId, params.id, { before: query.cursor, limit }),
          (row) => row.id,
        );
        return { milestones: items, cursor };
      },
    }),
  ];
}

export function refusedOr(answer: Registered | undefined): { deviceId: string; deviceToken: string } {
  if (answer && 'refused' in answer && answer.refused === 'UNKNOWN_PC') throw unknownPc();
  if (!answer || 'refused' in answer)
    throw deviceError('MUSTER_DEVICE_EXISTS', 'A device with this externalId already exists.');
  return { deviceId: answer.deviceId, deviceToken: answer.deviceToken as string };
}

/** 23505 unique_violation */
function alreadyThere(error: unknown): never {
  if (typeof error === 'object' && error !== null && 'code' in error && error.code === '23505')
    throw deviceError('MUSTER_DEVICE_EXISTS', 'A device with this externalId already exists.');
  throw error;
}
