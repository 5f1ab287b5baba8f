import { randomUUID } from 'node:crypto';
import { api } from '@muster/contracts';
import type { Database } from '@muster/engine';
import { MdmError, MOST_COMMAND_BYTES, parseCommand } from '@muster/mdm';
import type { Audit } from '../../../audit/audit.ts';
import { MusterError } from '../../../errors.ts';
import { operatorsByBasic } from '../../../http/access.ts';
import { bytesOf } from '../../../http/bytes-body.ts';
import { defineRoute, type Route } from '../../../http/define-route.ts';
import { httpError } from '../../../http/errors.ts';
import type { Caller } from '../../../tokens/caller.ts';
import type { Phones } from '../phones.ts';
import type { Pushes } from '../push/index.ts';
import { pushNow } from '../push-now.ts';
import type { RawCommands, RawRequest } from '../raw-commands.ts';
import { refuseErasing } from '../written-commands.ts';

interface Tools {
  readonly audit: Audit;
  readonly db: Database;
  readonly pushes: Pushes;
  readonly phones: Phones;
  readonly raw: RawCommands;
}

type Each = Record<string, { push_result?: string; push_error?: string; command_error?: string }>;

/** Of a thousand ids; each is its own transaction. */
const AT_ONCE = 8;
/** Any word may be an id, even a property name of objects. */
const newStatus = (): Each => Object.create(null);

/** The requests of programs written for NanoMDM, and the answers they expect. */
export function nanomdmRoutes({ audit, db, phones, pushes, raw }: Tools): Route[] {
  /** The phones among the ids; adds an error for each of the others. */
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
    const said = await pushNow(pushes, tenantId, [...found.values()]);
    for (const [id, deviceId] of found) status[id] = said(deviceId);
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
      ({ id, outcome }) =>
        outcome === 'created'
          ? {
              act: 'command.enqueue',
              target: `device ${deviceId}`,
              detail: { actionId: id, requestType: request.command.requestType },
            }
          : null,
    );
  }

  return [
    defineRoute(api.nanomdm.enqueue, {
      access: operatorsByBasic('operator'),
      bodyLimit: MOST_COMMAND_BYTES,
      takesLists: true,
      async handler({ caller, params, query, reply, request }) {
        const { commandUuid, ...command } = read(bytesOf(request.body));
        const { requestType } = command;
        refuseErasing(caller, requestType);
        const isQuiet = Boolean(query.nopush);
        const of = {
          command,
          commandUuid: commandUuid ?? randomUUID(),
          serial: query.serial,
          wake: isQuiet ? ('never' as const) : ('quietly' as const),
        };
        const status = newStatus();
        const queued = new Map<string, string>();
        const left = [...(await who(caller.tenantId, idsOf(params.ids), status, 'command_error'))];
        const queueOn = async () => {
          for (let next = left.shift(); next; next = left.shift()) {
            const [id, deviceId] = next;
            try {
              await enqueue(caller, deviceId, of);
              queued.set(id, deviceId);
              status[id] = {};
            } catch (error) {
              // an error of one phone must not refuse the others
              if (!(error instanceof MusterError) || error.status >= 500) throw error;
              status[id] = { command_error: error.message };
            }
          }
        };
        await Promise.all(Array.from({ length: AT_ONCE }, queueOn));
        if (!isQuiet) await push(caller.tenantId, queued, status);
        reply.code(isAllRight(status) ? 200 : 207);
        const answer = { status, command_uuid: of.commandUuid, request_type: requestType };
        return isQuiet ? { ...answer, no_push: true } : answer;
      },
    }),

    defineRoute(api.nanomdm.push, {
      access: operatorsByBasic('operator'),
      takesLists: true,
      async handler({ caller, params, reply }) {
        const status = newStatus();
        const found = await who(caller.tenantId, idsOf(params.ids), status, 'push_error');
        await push(caller.tenantId, found, status);
        reply.code(isAllRight(status) ? 200 : 207);
        return { status };
      },
    }),
  ];
}

function read(body: Buffer) {
  try {
    return parseCommand(body);
  } catch (error) {
    if (error instanceof MdmError) throw httpError('MUSTER_BAD_REQUEST', error.message);
    throw error;
  }
}

function idsOf(text: string): string[] {
  const ids = [...new Set(text.split(',').filter(Boolean))];
  if (ids.length === 0) throw httpError('MUSTER_BAD_REQUEST', 'The path has no id of a phone.');
  return ids;
}

const isAllRight = (status: Each) =>
  Object.values(status).every((one) => one.push_error === undefined && one.command_error === undefined);
