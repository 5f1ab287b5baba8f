import { randomUUID } from 'node:crypto';
import { api } from '@muster/contracts';
import { atLeast } from '@muster/contracts/words';
import type { Database } from '@muster/engine';
import { MdmError, MOST_COMMAND_BYTES, type PushOutcome, parseCommand } from '@muster/mdm';
import type { Audit } from '../../../audit/audit.ts';
import { MusterError } from '../../../errors.ts';
import { operatorsByBasic } from '../../../http/access.ts';
import { bytesOf } from '../../../http/bytes-body.ts';
import { defineRoute, type Route } from '../../../http/define-route.ts';
import { httpError } from '../../../http/errors.ts';
import type { Caller } from '../../../tokens/caller.ts';
import type { Phones } from '../phones.ts';
import type { Pushes } from '../push/index.ts';
import type { RawCommands, RawRequest } from '../raw-commands.ts';

interface Tools {
  readonly audit: Audit;
  readonly db: Database;
  readonly pushes: Pushes;
  readonly phones: Phones;
  readonly raw: RawCommands;
}

type Each = Record<string, { push_result?: string; push_error?: string; command_error?: string }>;

/** APNs has not said anything by then; the push is repeated all the same. */
const PATIENCE_MS = 10_000;

/** What programs that were made for NanoMDM send, and the answers they know. */
export function nanomdmRoutes({ audit, db, phones, pushes, raw }: Tools): Route[] {
  /** Those among the ids that are phones; of the others it says so. */
  async function who(tenantId: number, ids: readonly string[], status: Each, error: keyof Each[string]) {
    const known = await phones.known(db, tenantId, ids);
    const found = new Map<string, string>();
    for (const id of ids) {
      const phone = known.get(id);
      if (phone && phone.releasedAt === null) found.set(id, phone.deviceId);
      else status[id] = { [error]: 'No phone with this id is enrolled.' };
    }
    return found;
  }

  async function push(tenantId: number, found: ReadonlyMap<string, string>, status: Each): Promise<void> {
    if (found.size === 0) return;
    const outcomes = await within(pushes.now(tenantId, [...found.values()]), PATIENCE_MS);
    for (const [id, deviceId] of found) status[id] = outcomes ? said(outcomes.get(deviceId)) : NO_ANSWER;
  }

  function enqueue(
    caller: Caller,
    deviceId: string,
    request: Pick<RawRequest, 'command' | 'commandUuid' | 'serial' | 'wake'>,
  ) {
    const { tenantId, name: by } = caller;
    return audit.change(
      caller,
      (tx) => raw.enqueue(tx, { tenantId, deviceId, by, ...request }),
      ({ id }) => ({
        act: 'command.enqueue',
        target: `device ${deviceId}`,
        detail: { actionId: id, requestType: request.command.requestType },
      }),
    );
  }

  return [
    defineRoute(api.nanomdm.enqueue, {
      access: operatorsByBasic('operator'),
      bodyLimit: MOST_COMMAND_BYTES,
      async handler({ caller, params, query, reply, request }) {
        const { commandUuid, ...command } = read(bytesOf(request.body));
        const { requestType } = command;
        if (requestType === 'EraseDevice' && (caller.role === null || !atLeast(caller.role, 'admin')))
          throw httpError('MUSTER_FORBIDDEN', 'Erasing a phone needs the role admin.');
        const isQuiet = Boolean(query.nopush);
        const of = {
          command,
          commandUuid: commandUuid ?? randomUUID(),
          serial: query.serial,
          wake: isQuiet ? ('never' as const) : ('quietly' as const),
        };
        const status: Each = {};
        const queued = new Map<string, string>();
        for (const [id, deviceId] of await who(caller.tenantId, idsOf(params.ids), status, 'command_error'))
          try {
            await enqueue(caller, deviceId, of);
            queued.set(id, deviceId);
            status[id] = {};
          } catch (error) {
            // what is wrong with one phone is no reason to refuse the others
            if (!(error instanceof MusterError) || error.status >= 500) throw error;
            status[id] = { command_error: error.message };
          }
        if (!isQuiet) await push(caller.tenantId, queued, status);
        reply.code(isAllRight(status) ? 200 : 207);
        const answer = { status, command_uuid: of.commandUuid, request_type: requestType };
        return isQuiet ? { ...answer, no_push: true } : answer;
      },
    }),

    defineRoute(api.nanomdm.push, {
      access: operatorsByBasic('operator'),
      async handler({ caller, params, reply }) {
        const status: Each = {};
        const found = await who(caller.tenantId, idsOf(params.ids), status, 'push_error');
        await push(caller.tenantId, found, status);
        reply.code(isAllRight(status) ? 200 : 207);
        return { status };
      },
    }),
  ];
}

const NO_ANSWER = { push_error: 'APNs has not answered yet; the push is repeated.' };

function said(outcome: PushOutcome | undefined): Each[string] {
  if (!outcome) return { push_result: 'A push is on its way already, or waits for a token.' };
  if (outcome.kind === 'accepted') return { push_result: outcome.apnsId ?? 'accepted' };
  return { push_error: outcome.reason };
}

function read(body: Buffer) {
  try {
    return parseCommand(body);
  } catch (error) {
    if (error instanceof MdmError) throw httpError('MUSTER_BAD_REQUEST', error.message);
    throw error;
  }
}

const idsOf = (text: string) => [...new Set(text.split(',').filter(Boolean))];
const isAllRight = (status: Each) =>
  Object.values(status).every((one) => one.push_error === undefined && one.command_error === undefined);

/** Null: it takes longer. */
function within<T>(work: Promise<T>, ms: number): Promise<T | null> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(null), ms);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
