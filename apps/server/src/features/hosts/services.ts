import type { Engine, Transaction } from '@muster/engine';
import type { Audit } from '../../audit/audit.ts';
import { isId } from '../../http/ids.ts';
import type { Caller } from '../../tokens/caller.ts';
import { hostError, unknownHost, unknownService } from './errors.ts';
import type { ControlQueries, Service } from './queries.ts';
import type { ServiceCache } from './service-cache.ts';
import { SPACE } from './wire.ts';

/** Services: each is a lane driven by the host's runner. */
export type Services = ReturnType<typeof createServices>;

/** A claim looks at every lane of the host. */
const MOST_SERVICES = 1_000;

export interface NewService {
  readonly unitName: string;
  readonly displayName?: string | undefined;
  readonly description?: string | undefined;
}

export function createServices(tools: {
  audit: Audit;
  cache: ServiceCache;
  engine: Engine;
  queries: ControlQueries;
}) {
  const { audit, cache, engine, queries } = tools;
  const { db } = engine;

  /** Everything queued or running for it ends as cancelled; its lane gets no new work. */
  async function removeInside(tx: Transaction, service: Service): Promise<void> {
    const { tenantId, laneId, hostId, id } = service;
    await queries.deleteService(tx, { tenantId, hostId, id });
    await engine.raiseGeneration(tx, { tenantId, laneId });
    await engine.assignRunner(tx, { tenantId, laneId }, null);
    await cache.changed(tx, service);
  }

  async function get(caller: Caller, hostId: string, serviceId: string): Promise<Service> {
    const service = isId(serviceId) ? await cache.get(caller.tenantId, serviceId) : null;
    if (service?.hostId === hostId) return service;
    throw (await queries.getHost(db, caller.tenantId, hostId)) ? unknownService() : unknownHost();
  }

  return {
    get,
    removeInside,

    create: (caller: Caller, hostId: string, given: NewService) =>
      audit.change(
        caller,
        async (tx) => {
          const { tenantId } = caller;
          const host = await queries.lockHost(tx, tenantId, hostId);
          if (!host) throw unknownHost();
          if ((await queries.countServices(tx, tenantId, hostId)) >= MOST_SERVICES)
            throw hostError('MUSTER_TOO_MANY_SERVICES', `A host has at most ${MOST_SERVICES} services.`);
          const id = await queries.nextServiceId(tx);
          const laneId = await engine.ensureLane(tx, tenantId, SPACE, id);
          const service = await queries.insertService(tx, {
            id,
            tenantId,
            hostId,
            laneId,
            unitName: given.unitName,
            displayName: given.displayName ?? given.unitName,
            description: given.description ?? '',
          });
          if (!service)
            throw hostError('MUSTER_UNIT_EXISTS', 'This host already has a service for this unit.');
          // The host's waiting agent looks again, now with this lane among its own.
          await engine.assignRunner(tx, { tenantId, laneId }, host.runnerId);
          return service;
        },
        (service) => ({
          act: 'service.create',
          target: `service ${service.id}`,
          detail: { hostId, ...given },
        }),
      ),

    async list(caller: Caller, hostId: string): Promise<Service[]> {
      const found = isId(hostId) ? await queries.listServices(db, caller.tenantId, hostId) : [];
      if (found.length === 0 && !(await queries.getHost(db, caller.tenantId, hostId))) throw unknownHost();
      return found;
    },

    update: (
      caller: Caller,
      hostId: string,
      id: string,
      to: { displayName?: string | undefined; description?: string | undefined },
    ) =>
      audit.change(
        caller,
        async (tx) => {
          const { tenantId } = caller;
          if (!(await queries.lockHost(tx, tenantId, hostId))) throw unknownHost();
          const service = await queries.changeService(
            tx,
            { tenantId, hostId, id },
            { displayName: to.displayName ?? null, description: to.description ?? null },
          );
          if (!service) throw unknownService();
          await cache.changed(tx, service);
          return service;
        },
        { act: 'service.update', target: `service ${id}`, detail: to },
      ),

    remove: (caller: Caller, hostId: string, id: string) =>
      audit.change(
        caller,
        async (tx) => {
          const { tenantId } = caller;
          if (!(await queries.lockHost(tx, tenantId, hostId))) throw unknownHost();
          const [service] = isId(id) ? await queries.getServices(tx, [{ tenantId, id }]) : [];
          if (service?.hostId !== hostId) throw unknownService();
          await removeInside(tx, service);
          return service;
        },
        ({ unitName }) => ({ act: 'service.delete', target: `service ${id}`, detail: { hostId, unitName } }),
      ),
  };
}
