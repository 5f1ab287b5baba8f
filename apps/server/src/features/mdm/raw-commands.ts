import { createHash, randomUUID } from 'node:crypto';
import type { ClaimedAction, Engine, NewAction, Queryable } from '@muster/engine';
import { type Command, checkCommand, MdmError, plistFromJson, plistToJson } from '@muster/mdm';
import type { Fleet } from '../../fleet/index.ts';
import type { CommandCache } from './commands/cache.ts';
import { mdmError } from './errors.ts';
import type { PhoneRow, Phones } from './phones.ts';
import type { Pushes } from './push/index.ts';
import { ERASE } from './written-commands.ts';

/** The channel of actions that a phone gets over this protocol. */
export const MDM = 'mdm';
export const KIND = 'mdm.raw';
const UNLOCK = 'ClearPasscode';

/** What an action of this channel carries. */
export interface RawPayload {
  readonly commandUuid: string;
  readonly requestType: string;
  /** Its keys; that word would hide them all from operators (`hidden-fields.ts`), not only those that are secret. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

export interface RawRequest {
  readonly tenantId: number;
  readonly deviceId: string;
  readonly command: Command;
  /** One of the caller's own; a phone hears each once. */
  readonly commandUuid?: string | null | undefined;
  /** EraseDevice is refused without the serial number of the phone. */
  readonly serial?: string | undefined;
  readonly priority?: 'normal' | 'urgent' | undefined;
  readonly idempotencyKey?: string | undefined;
  readonly by: string;
  /** Of a copy: the old one, its clocks and its tries. */
  readonly more?: Partial<NewAction> | undefined;
  /** Whether the phone is woken up for it: by us, by the caller himself (`quietly`), or by nobody. */
  readonly wake?: 'quietly' | 'never' | undefined;
}

interface Tools {
  readonly commands: CommandCache;
  readonly engine: Engine;
  readonly fleet: Pick<Fleet, 'addStepMilestones' | 'noteAssigned'>;
  readonly leaseMs: number;
  readonly phones: Phones;
  readonly pushes: Pushes;
}

/**
 * Commands that an operator writes himself. Each is an action of the phone's lane, so it waits for its turn behind whatever else
 * the phone is asked to do; what the phone answers is its result.
 */
export function createRawCommands({ commands, engine, fleet, leaseMs, phones, pushes }: Tools) {
  const { schema: s } = engine;

  fleet.addStepMilestones(MDM, MDM);

  // whoever ends the attempt: the phone does not get it again, and its answer would be late
  engine.addEffect({
    name: 'mdm_raw',
    channels: [MDM],
    sql: (own) => ({
      steps: `${own('close')} as (
        update ${s}.mdm_commands m set closed_at = coalesce(m.closed_at, t.at),
          answered_at = case when t.state = 'pending' then m.answered_at else coalesce(m.answered_at, t.at) end
        from ${own('tr')} t
        where t.before = 'claimed' and t.state <> 'claimed'
          and m.tenant_id = any(array[t.tenant_id]) and m.action_id = t.action_id and ${s}.sought_by(m.action_id) and m.action_id is not null
      )`,
      facts: `select t.action_id, jsonb_build_object('tenantId', t.tenant_id, 'deviceId', d.device_id::text) as facts
        from ${own('tr')} t
        cross join lateral (
          select d.device_id from ${s}.devices d where d.tenant_id = t.tenant_id and d.lane_id = t.lane_id and ${s}.sought_by(d.lane_id) limit 1
        ) d
        where t.before = 'claimed' and t.state = 'pending'`,
    }),
    // it is tried again when the phone comes, and somebody has to wake it
    afterCommit(facts) {
      for (const { tenantId, deviceId } of facts)
        void pushes.want(engine.db, tenantId as number, [deviceId as string]).catch(() => {});
    },
  });

  /** Throws what a phone would not understand. */
  function check(phone: PhoneRow, { command, serial }: RawRequest): void {
    const { requestType, keys } = command;
    if (requestType === UNLOCK) {
      if (phone.sealedUnlockToken === null)
        throw mdmError('MUSTER_BAD_COMMAND', 'The phone has given no unlock token.');
      if (Object.keys(keys).length > 0)
        throw mdmError('MUSTER_BAD_COMMAND', 'The unlock token is added when the command is handed out.');
      return;
    }
    try {
      checkCommand(command);
    } catch (error) {
      if (error instanceof MdmError) throw mdmError('MUSTER_BAD_COMMAND', error.message);
      throw error;
    }
    if (requestType === ERASE && serial !== (phone.serial ?? phone.udid))
      throw mdmError('MUSTER_WRONG_SERIAL', 'To erase a phone, repeat its serial number.');
  }

  return {
    /** The action, and the id by which the phone knows it. */
    async enqueue(tx: Queryable, request: RawRequest) {
      const { tenantId, deviceId, command, idempotencyKey, priority } = request;
      const phone = await phones.ofDevice(tx, tenantId, deviceId);
      if (!phone || phone.releasedAt !== null || phone.enrolledAt === null)
        throw mdmError('MUSTER_NOT_ENROLLED', 'No phone is enrolled as this device.');
      check(phone, request);
      const commandUuid =
        request.commandUuid ??
        (idempotencyKey === undefined ? randomUUID() : uuidOf(`${tenantId}:${deviceId}:${idempotencyKey}`));
      const parameters = plistToJson(command.keys) as RawPayload['parameters'];
      const payload: RawPayload = { commandUuid, requestType: command.requestType, parameters };
      // a phone that was erased does not come back to say so
      const once = command.requestType === ERASE ? { maxAttempts: 1, onLeaseEnd: 'succeed' as const } : {};
      const { id, outcome } = await engine.enqueue(tx, {
        ...request.more,
        ...{ tenantId, laneId: phone.laneId, channel: MDM, kind: KIND, payload, priority, idempotencyKey },
        ...{ leaseMs, createdBy: request.by, ...once },
      });
      if (outcome === 'created')
        await fleet.noteAssigned(tx, tenantId, [
          {
            ...{ deviceId, actionId: id, source: MDM, sourceId: null, by: request.by, moreDays: 0 },
            ack: null,
          },
        ]);
      if (request.wake !== 'never')
        await pushes.want(tx, tenantId, [deviceId], { quietly: request.wake === 'quietly' });
      return { id, outcome, commandUuid };
    },

    /** The phone's next one, now or within a time; null: there is none. What it has already it gets again. */
    claim(
      of: { tenantId: number; laneId: string; udid: string },
      more: { except?: string; waitMs?: number; signal?: AbortSignal } = {},
    ): Promise<ClaimedAction | null> {
      const { tenantId, laneId, udid } = of;
      return engine.claim(engine.db, {
        tenantId,
        laneId,
        channel: MDM,
        worker: workerOf(udid),
        leaseMs,
        ...more,
      });
    },

    /** From now on its answer is known. */
    async hand(tenantId: number, udid: string, action: ClaimedAction): Promise<RawPayload> {
      const payload = action.payload as RawPayload;
      await commands.hand(engine.db, tenantId, {
        ...{ udid, commandUuid: payload.commandUuid, source: 'lane', requestType: payload.requestType },
        ...{ payload: payload.parameters, actionId: action.id, attempt: action.attempt },
        // before its lease ends, so that what is presumed is its result
        expiresAt:
          payload.requestType === ERASE ? new Date(action.leaseUntil.getTime() - PRESUMED_BEFORE_MS) : null,
      });
      return payload;
    },

    /** Whoever was asked to erase itself and says nothing has done it. */
    async presume(client: Queryable, { tenantId, udid, actionId, attempt }: Presumed): Promise<void> {
      if (actionId === null || attempt === null) return;
      await engine.report(client, {
        ...{ tenantId, actionId, attempt, worker: workerOf(udid), status: 'succeeded' },
        result: { status: 'PRESUMED' },
      });
    },

    keysOf: (payload: RawPayload['parameters']) => plistFromJson(payload),
  };
}

interface Presumed {
  readonly tenantId: number;
  readonly udid: string;
  readonly actionId: string | null;
  readonly attempt: number | null;
}

const PRESUMED_BEFORE_MS = 2_000;

export type RawCommands = ReturnType<typeof createRawCommands>;

/** Under this name a phone holds its lease. */
export const workerOf = (udid: string) => `mdm:${udid}`;

/** The same for the same words: a repeated request names the same command. */
function uuidOf(words: string): string {
  const hash = createHash('sha256').update(words).digest('hex');
  return `${hash.slice(0, 8)}-${hash.slice(8, 12)}-8${hash.slice(13, 16)}-8${hash.slice(17, 20)}-${hash.slice(20, 32)}`;
}
