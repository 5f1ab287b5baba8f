import { createHash, randomUUID } from 'node:crypto';
import {
  type ClaimedAction,
  type Engine,
  type EngineError,
  EVENT_TYPES,
  type NewAction,
  type Queryable,
} from '@muster/engine';
import { type Command, checkCommand, MdmError, plistFromJson, plistToJson } from '@muster/mdm';
import type { Fleet } from '../../fleet/index.ts';
import type { CommandCache } from './commands/cache.ts';
import { mdmError } from './errors.ts';
import type { Lives } from './lives.ts';
import type { PhoneRow, Phones } from './phones.ts';
import type { Pushes } from './push/index.ts';
import { ERASE } from './written-commands.ts';

/** The channel of actions that a phone gets over this protocol. */
export const MDM = 'mdm';
export const KIND = 'mdm.raw';
const UNLOCK = 'ClearPasscode';
/** A phone's new life is noticed within a second, if nothing is in the way. */
const RETRY_SECONDS = 1;

/** The payload of an action of this channel. */
export interface RawPayload {
  readonly commandUuid: string;
  readonly requestType: string;
  /** Not called `keys`: that would hide all of them from operators (`hidden-fields.ts`), not only the secret ones. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** To erase: the phone that it was queued for. Not `serial`: a copy would repeat that by itself. */
  readonly meantFor?: string;
}

export interface RawRequest {
  readonly tenantId: number;
  readonly deviceId: string;
  readonly command: Command;
  /**
   * The caller's own. Repeating the same command creates no second one; another command with the same id is refused.
   */
  readonly commandUuid?: string | null | undefined;
  /** EraseDevice is refused without the serial number of the phone. */
  readonly serial?: string | undefined;
  readonly priority?: 'normal' | 'urgent' | undefined;
  readonly idempotencyKey?: string | undefined;
  readonly by: string;
  /** For a copy: its original, its clocks and its tries. */
  readonly more?: Partial<NewAction> | undefined;
  /** Whether the phone is woken for it: by us if not given, by the caller (`quietly`), or not at all. */
  readonly wake?: 'quietly' | 'never' | undefined;
}

interface Tools {
  readonly commands: CommandCache;
  readonly engine: Engine;
  readonly fleet: Pick<Fleet, 'addStepMilestones' | 'noteAssigned'>;
  readonly leaseMs: number;
  readonly lives: Lives;
  readonly phones: Phones;
  readonly pushes: Pushes;
}

/**
 * Commands that operators write themselves. Each is an action in the phone's lane, so it waits for its turn behind
 * everything else queued for the phone; the phone's answer is its result.
 */
export function createRawCommands({ commands, engine, fleet, leaseMs, lives, phones, pushes }: Tools) {
  const { schema: s } = engine;

  fleet.addStepMilestones(MDM, MDM);

  // When an attempt ends or its cancel is requested, the phone no longer gets the command; if the action is to be tried
  // again, the phone is called. A command that ended without an answer is not marked answered: the answer may still
  // come, and the engine decides what it is worth.
  engine.addEffect({
    name: 'mdm_raw',
    channels: [MDM],
    sql: (own) => ({
      steps: `${own('close')} as (
        update ${s}.mdm_commands m set closed_at = coalesce(m.closed_at, t.at),
          answered_at = case when t.state in ('succeeded', 'failed') and not t.events @> array[${EVENT_TYPES.TIMEOUT}]
            then coalesce(m.answered_at, t.at) else m.answered_at end
        from ${own('tr')} t
        where t.before = 'claimed' and (t.state <> 'claimed' or t.events @> array[${EVENT_TYPES.CANCEL_REQUESTED}])
          and m.tenant_id = any(array[t.tenant_id]) and m.action_id = t.action_id and ${s}.sought_by(m.action_id) and m.action_id is not null
      ), ${own('watch')} as (
        update ${s}.mdm_devices m set watched_at = t.at
        from ${own('tr')} t
        cross join lateral (
          select d.device_id from ${s}.devices d where d.tenant_id = t.tenant_id and d.lane_id = t.lane_id and ${s}.sought_by(d.lane_id) limit 1
        ) d
        where t.state = 'pending' and m.tenant_id = any(array[t.tenant_id]) and m.device_id = d.device_id and ${s}.sought_by(m.device_id)
      )`,
    }),
  });

  /** Throws if the phone would not understand the command. */
  function check(phone: PhoneRow, { command, serial }: RawRequest): void {
    const { requestType, keys } = command;
    if (requestType === UNLOCK) {
      if (phone.sealedUnlockToken === null)
        throw mdmError('MUSTER_BAD_COMMAND', 'The phone has not sent an unlock token.');
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
    if (requestType === ERASE && serial !== nameOf(phone))
      throw mdmError('MUSTER_WRONG_SERIAL', 'To erase a phone, repeat its serial number.');
  }

  /** Null: the phone may have it. For an erase, the phone is checked again: a mistake here cannot be undone. */
  async function refusalOf({ tenantId, udid }: { tenantId: number; udid: string }, action: ClaimedAction) {
    if (action.redelivered && action.cancelRequested) return { status: 'unreached' } as const;
    const { requestType, meantFor } = action.payload as RawPayload;
    if (requestType !== ERASE) return null;
    const phone = (await phones.known(engine.db, tenantId, [udid])).get(udid);
    if (phone && meantFor === nameOf(phone)) return null;
    return {
      status: 'failed',
      final: true,
      error: 'The phone has another serial number than the one to be erased.',
    } as const;
  }

  const usedUuid = () =>
    mdmError('MUSTER_COMMAND_UUID_USED', 'Another command for this phone has this CommandUUID.');

  return {
    /** Returns the action, and the id by which the phone knows it. */
    async enqueue(tx: Queryable, request: RawRequest) {
      const { tenantId, deviceId, command, priority } = request;
      // a command with the caller's own id is known by it
      const given = request.commandUuid ?? null;
      const idempotencyKey = given === null ? request.idempotencyKey : `${KIND} ${deviceId} ${given}`;
      const phone = await phones.ofDevice(tx, tenantId, deviceId);
      if (!phone || phone.releasedAt !== null || phone.enrolledAt === null)
        throw mdmError('MUSTER_NOT_ENROLLED', 'No phone is enrolled as this device.');
      if (!(await lives.isBegun(tx, tenantId, phone)))
        throw mdmError(
          'MUSTER_NEW_LIFE',
          'The phone has just enrolled, and unfinished actions from before are still being ended. Try again in a moment.',
          { retryAfter: RETRY_SECONDS },
        );
      check(phone, request);
      const commandUuid =
        given ??
        (idempotencyKey === undefined ? randomUUID() : uuidOf(`${tenantId}:${deviceId}:${idempotencyKey}`));
      const parameters = plistToJson(command.keys) as RawPayload['parameters'];
      const { requestType } = command;
      const payload: RawPayload = {
        ...{ commandUuid, requestType, parameters },
        ...(requestType === ERASE ? { meantFor: nameOf(phone) } : {}),
      };
      // an erased phone does not come back to say so
      const once = requestType === ERASE ? { maxAttempts: 1, onLeaseEnd: 'succeed' as const } : {};
      const { id, outcome } = await engine
        .enqueue(tx, {
          ...request.more,
          ...{ tenantId, laneId: phone.laneId, channel: MDM, kind: KIND, payload, priority, idempotencyKey },
          ...{ leaseMs, createdBy: request.by, ...once },
        })
        .catch((error) => {
          throw given !== null && (error as EngineError).code === 'MUSTER_IDEMPOTENCY_MISMATCH'
            ? usedUuid()
            : error;
        });
      // a command from another source may have the id too
      if (
        given !== null &&
        outcome === 'created' &&
        (await commands.isKnown(tx, tenantId, phone.udid, given))
      )
        throw usedUuid();
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

    /**
     * The phone's next command, now or within a time; null: none. A command it already holds is handed out again,
     * unless its cancel was requested: a phone that asks for work has not done it, so the cancel takes effect here.
     */
    async claim(
      of: { tenantId: number; laneId: string; udid: string },
      more: { except?: readonly string[]; waitMs?: number; signal?: AbortSignal } = {},
    ): Promise<ClaimedAction | null> {
      const { tenantId, laneId, udid } = of;
      const worker = workerOf(udid);
      for (;;) {
        const action = await engine.claim(engine.db, {
          ...{ tenantId, laneId, channel: MDM, worker, leaseMs },
          ...more,
        });
        if (!action) return null;
        const outcome = await refusalOf(of, action);
        if (!outcome) return action;
        await engine.report(engine.db, {
          ...{ tenantId, actionId: action.id, attempt: action.attempt, worker, channel: MDM },
          ...outcome,
        });
      }
    },

    /** From now on its answer is recognised. */
    async hand(tenantId: number, udid: string, action: ClaimedAction): Promise<RawPayload> {
      const payload = action.payload as RawPayload;
      await commands.hand(engine.db, tenantId, {
        ...{ udid, commandUuid: payload.commandUuid, source: 'lane', requestType: payload.requestType },
        ...{ payload: payload.parameters, actionId: action.id, attempt: action.attempt },
        again: action.redelivered,
        // before its lease ends, so the presumed success is its result
        expiresAt:
          payload.requestType === ERASE ? new Date(action.leaseUntil.getTime() - PRESUMED_BEFORE_MS) : null,
      });
      return payload;
    },

    /** A phone that was told to erase itself and does not answer has done it. */
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

/** What the caller must repeat to erase it. */
const nameOf = ({ serial, udid }: PhoneRow) => serial ?? udid;

/** The name under which a phone holds its lease. */
export const workerOf = (udid: string) => `mdm:${udid}`;

/** The same for the same words, so a repeated request names the same command. */
function uuidOf(words: string): string {
  const hash = createHash('sha256').update(words).digest('hex');
  return `${hash.slice(0, 8)}-${hash.slice(8, 12)}-8${hash.slice(13, 16)}-8${hash.slice(17, 20)}-${hash.slice(20, 32)}`;
}
