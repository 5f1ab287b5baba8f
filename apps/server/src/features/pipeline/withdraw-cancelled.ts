import { COMMAND_TOPIC, type CommandMessage } from '@muster/contracts';
import { type Duty, dutyRun, type Engine } from '@muster/engine';
import type { Bus } from '../../bus/bus.ts';
import type { ExecutionQueries } from './execution-queries.ts';
import { typeOf } from './transitions.ts';

/**
 * Sends the command of a cancelled action once more, already expired, to the layer that speaks for its device. A layer
 * that has not handed it out yet drops it and reports that no device fetched it; for any other it is a repeated message
 * that changes nothing.
 */
const MOST = 500;
const KEPT_MS = 86_400_000;

export function createWithdrawCancelled(
  { now, schema: s }: Pick<Engine, 'now' | 'schema'>,
  bus: Bus,
  executions: ExecutionQueries,
): Duty {
  return {
    name: 'withdraw-cancelled',
    everyMs: 1_000,
    due: `exists (select 1 from ${s}.executions e where e.withdrawn)`,
    whose: `select distinct e.tenant_id from ${s}.executions e where e.withdrawn and $1::timestamptz is not null`,
    async runOnce(client) {
      const withdrawn = await executions.withdraw(client, MOST);
      await client.query({
        text: `delete from ${s}.withdrawn_commands where withdrawn_at < $1`,
        values: [new Date(now().getTime() - KEPT_MS)],
      });
      // a message is not a command: it is sent at once
      const commands = withdrawn.filter(({ typeId }) => {
        const type = typeOf(typeId);
        return type?.way === 'command' && type.requestType !== 'SendMessage';
      });
      await bus.publish(
        client,
        COMMAND_TOPIC,
        commands.map(({ tenantId, commandUuid, typeId, udid }) => {
          const body: CommandMessage = {
            ...{ command_uuid: commandUuid, device_udid: udid, push_token: null, push_magic: null },
            ...{ request_type: typeOf(typeId)?.requestType as string, command_payload: {} },
            expires_at: now().toISOString(),
          };
          return { tenantId, key: udid, body };
        }),
      );
      return dutyRun(withdrawn.length, MOST);
    },
  };
}
