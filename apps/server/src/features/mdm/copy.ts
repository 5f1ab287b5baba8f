import type { Engine } from '@muster/engine';
import type { Copy } from '../../copying/copying.ts';
import type { Fleet } from '../../fleet/index.ts';
import { httpError } from '../../http/errors.ts';
import type { RedriveRule } from '../../redriving/redriving.ts';
import { mdmError } from './errors.ts';
import { KIND, MDM, type RawCommands } from './raw-commands.ts';
import { ERASE, keysOf, refuseErasing } from './written-commands.ts';

/**
 * A copy is a new command, queued by the rules of commands: permission, what the phone understands, its own id, a push.
 * To erase, its payload repeats the serial number of the phone (`serial`), which is not stored.
 */
export const copyCommand =
  ({ fleet, raw }: { fleet: Pick<Fleet, 'deviceOfLane'>; raw: RawCommands }): Copy =>
  async (tx, old, { caller, changes, idempotencyKey }) => {
    const { tenantId } = caller;
    if (changes.kind !== undefined && changes.kind !== KIND)
      throw httpError('MUSTER_BAD_BODY', `kind must be ${KIND}; the payload names the command.`);
    const { requestType, parameters = {}, serial } = written(changes.payload ?? old.payload);
    refuseErasing(caller, requestType);
    const deviceId = await fleet.deviceOfLane(tx, tenantId, old.laneId);
    if (deviceId === null) throw mdmError('MUSTER_NOT_ENROLLED', 'No phone is enrolled as this device.');
    const { notBefore, deliverBy, deadline } = changes;
    return raw.enqueue(tx, {
      ...{ tenantId, deviceId, serial, idempotencyKey, by: caller.name },
      command: { requestType, keys: keysOf(parameters) },
      priority: changes.priority ?? old.priority,
      more: {
        copiedFrom: old.id,
        ...(notBefore === undefined ? {} : { notBefore: new Date(notBefore) }),
        ...(deliverBy === undefined ? {} : { deliverBy: new Date(deliverBy) }),
        ...(deadline === undefined ? {} : { deadline: new Date(deadline) }),
        maxAttempts: changes.maxAttempts ?? old.maxAttempts,
        headOfLine: changes.headOfLine ?? old.headOfLine,
      },
    });
  };

interface Written {
  readonly requestType: string;
  readonly parameters?: Readonly<Record<string, unknown>>;
  readonly serial?: string;
}

function written(payload: unknown): Written {
  const { requestType, parameters: given, serial } = (payload ?? {}) as Record<string, unknown>;
  const isObject =
    given === undefined || (typeof given === 'object' && given !== null && !Array.isArray(given));
  if (typeof requestType !== 'string' || !isObject || (serial !== undefined && typeof serial !== 'string'))
    throw mdmError(
      'MUSTER_BAD_COMMAND',
      'The payload of a command must have its requestType, its parameters and, to erase, the serial of the phone.',
    );
  return payload as Written;
}

/**
 * The serial number was confirmed for the phone of that time: to erase one, confirm it again with a new command or a
 * copy.
 */
export function createRedriveRule({ schema: s }: Engine): RedriveRule {
  return async (tx, tenantId, letters, { copy }) => {
    const own = copy ? [] : letters.filter(({ channel }) => channel === MDM).map(({ id }) => id);
    if (own.length === 0) return new Map();
    const { rows } = await tx.query({
      text: `select x.action_id from unnest((select $2::bigint[])) i(action_id)
        cross join lateral (
          select * from ${s}.action_states x where x.tenant_id = $1 and x.action_id = i.action_id limit 1
        ) x where x.payload->>'requestType' = $3`,
      values: [tenantId, own, ERASE],
    });
    const refused = mdmError(
      'MUSTER_WRONG_SERIAL',
      'Erase commands cannot be redriven. Queue a new one with the serial number of the phone.',
    );
    return new Map(rows.map((row) => [row.action_id as string, refused]));
  };
}
