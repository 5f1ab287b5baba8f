import type { NewHostAction } from '@muster/contracts';
import type { ActionFilter, ActionState, ActionView, Engine } from '@muster/engine';
import type { Audit } from '../../audit/audit.ts';
import { noteCommitted } from '../../audit/note-committed.ts';
import { httpError } from '../../http/errors.ts';
import type { Log } from '../../http/logging.ts';
import { refusePast } from '../../http/past-times.ts';
import { readBack } from '../../http/read-back.ts';
import type { Caller } from '../../tokens/caller.ts';
import { unknownAction } from './errors.ts';
import { SERVICE_DELETED } from './reasons.ts';
import type { Services } from './services.ts';
import { CHANNEL, type Payload, payloadOf, type Status, stateOf, statusOf, tagOf } from './wire.ts';

/** Actions of a host (start, stop, restart of its services), which operators queue, list and cancel. */
export type HostActions = ReturnType<typeof createHostActions>;

const TRIES = 3;
/** The retry of a failed attempt must not overtake later actions: restart, then stop, must end stopped. */
const KEEPS_ORDER = 'hold';

export function createHostActions(tools: { audit: Audit; engine: Engine; log: Log; services: Services }) {
  const { audit, engine, log, services } = tools;
  const { db } = engine;

  async function get(caller: Caller, hostId: string, id: string): Promise<ActionView> {
    const action = await engine.get(db, caller.tenantId, id);
    if (action?.channel !== CHANNEL || payloadOf(action).hostId !== hostId) throw unknownAction();
    return action;
  }

  /** For a repeated request the service as it was, even if deleted since; the engine detects a different request. */
  async function serviceOf(caller: Caller, hostId: string, serviceId: string, key: string | undefined) {
    try {
      return await services.get(caller, hostId, serviceId);
    } catch (unknown) {
      const id = await engine.idOfKey(db, caller.tenantId, key);
      const first = id === null ? null : await engine.get(db, caller.tenantId, id);
      if (first?.channel !== CHANNEL) throw unknown;
      const said = payloadOf(first);
      if (said.hostId !== hostId || said.serviceId !== serviceId) throw unknown;
      return { id: serviceId, unitName: said.unitName, laneId: first.laneId };
    }
  }

  return {
    get,

    async enqueue(caller: Caller, hostId: string, given: NewHostAction, idempotencyKey: string | undefined) {
      const { tenantId } = caller;
      const service = await serviceOf(caller, hostId, given.serviceId, idempotencyKey);
      await refusePast(
        engine.now(),
        { deliverBy: given.deliverBy },
        async () => (await engine.idOfKey(db, tenantId, idempotencyKey)) !== null,
      );
      const payload: Payload = { hostId, serviceId: service.id, unitName: service.unitName };
      const { id, created } = await engine.enqueue(
        db,
        {
          tenantId,
          laneId: service.laneId,
          channel: CHANNEL,
          kind: given.kind,
          payload,
          priority: given.priority,
          deliverBy: given.deliverBy === undefined ? undefined : new Date(given.deliverBy),
          tags: [tagOf(hostId)],
          headOfLine: given.headOfLine ?? KEEPS_ORDER,
          maxAttempts: given.maxAttempts ?? TRIES,
          leaseMs: given.leaseSeconds === undefined ? undefined : given.leaseSeconds * 1_000,
          idempotencyKey,
          createdBy: caller.name,
        },
        { created: true },
      );
      if (!created) {
        const action = await readBack(`action ${id}`, () => engine.get(db, tenantId, id));
        if (!action) throw unknownAction();
        return { action, isNew: false };
      }
      await noteCommitted(audit, log, caller, {
        act: 'action.enqueue',
        target: `action ${id}`,
        detail: { hostId, serviceId: service.id, kind: given.kind },
      });
      const action = await readBack(`action ${id}`, () => engine.explain(db, created));
      if (action.waitingFor?.code === SERVICE_DELETED) {
        // The service was deleted between the look and the enqueue, so this action could never end.
        await engine.cancel(db, { tenantId, actionId: id, reason: 'The service was deleted.' });
        return { action: null, isNew: true };
      }
      return { action, isNew: true };
    },

    async list(
      caller: Caller,
      hostId: string,
      given: {
        status?: Status | 'unfinished' | undefined;
        /** The same in the engine's words. */
        state?: ActionState | 'running' | 'unfinished' | 'finished' | undefined;
        serviceId?: string | undefined;
        cursor?: string | undefined;
        limit: number;
      },
    ) {
      const filter: ActionFilter = {
        tenantId: caller.tenantId,
        channel: CHANNEL,
        ...(given.serviceId === undefined
          ? { tag: tagOf(hostId) }
          : { laneId: (await services.get(caller, hostId, given.serviceId)).laneId }),
        ...(given.status === undefined ? {} : { state: stateOf(given.status) }),
        ...(given.state === undefined ? {} : { state: given.state === 'running' ? 'claimed' : given.state }),
      };
      return engine.list(db, filter, { limit: given.limit, cursor: given.cursor });
    },

    events: (caller: Caller, id: string) => engine.events(db, caller.tenantId, id),

    /** A queued action ends at once; the agent is told to stop a running one. */
    async cancel(
      caller: Caller,
      hostId: string,
      id: string,
      reason: string | undefined,
    ): Promise<ActionView> {
      await get(caller, hostId, id);
      await audit.change(
        caller,
        async (tx) => {
          const { outcome, state } = await engine.cancel(tx, {
            tenantId: caller.tenantId,
            actionId: id,
            reason,
          });
          if (outcome === 'unknown') throw unknownAction();
          if (outcome === 'finished' && state !== 'cancelled')
            throw httpError('MUSTER_FINISHED', `This action has already ended: ${statusOf(state)}.`);
        },
        { act: 'action.cancel', target: `action ${id}`, detail: { hostId, reason } },
      );
      return readBack(`action ${id}`, () => get(caller, hostId, id));
    },
  };
}
