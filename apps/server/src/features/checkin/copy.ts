import type { DeviceAction } from '@muster/contracts';
import { EngineError } from '@muster/engine';
import type { Copy } from '../../copying/copying.ts';
import { type Fleet, unknownDevice } from '../../fleet/index.ts';
import { httpError } from '../../http/errors.ts';

/** A copy is assigned like any other action: with a milestone, and the days and acknowledgement of the original. */
export const copyAssignment =
  (fleet: Fleet): Copy =>
  async (tx, old, { caller, changes, idempotencyKey }) => {
    const { tenantId, laneId } = old;
    const deviceId = await fleet.deviceOfLane(tx, tenantId, laneId);
    if (deviceId === null) throw unknownDevice();
    const said = (await fleet.saidOf(tx, tenantId, [old.id])).get(old.id);
    const action = {
      priority: old.priority,
      maxAttempts: old.maxAttempts,
      headOfLine: old.headOfLine,
      moreDays: said?.moreDays ?? 0,
      ...(said?.ack ? { ack: said.ack as 'onReport' | 'onDelivery' } : {}),
      ...changes,
      kind: changes.kind ?? old.kind,
      payload: changes.payload === undefined ? old.payload : changes.payload,
    } satisfies DeviceAction;
    const source = {
      tenantId,
      source: 'assign' as const,
      by: caller.name,
      idempotencyKey,
      copiedFrom: old.id,
    };
    const [done] = await fleet.assigning.assign(tx, source, [{ deviceId, laneId }], action);
    if (done === 'DEVICE_DELETED') throw unknownDevice();
    if (done === 'EXPIRY_OUT_OF_RANGE')
      throw httpError('MUSTER_BAD_BODY', 'Its days would move the expiry outside the years 2 to 8999.');
    if (!done || done instanceof EngineError) throw done;
    return done;
  };
