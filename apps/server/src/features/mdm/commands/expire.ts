import { type Duty, dutyRun, type Engine, hasCome } from '@muster/engine';
import type { PhoneEvent, Publish } from '../events.ts';
import type { Closed, CommandCache } from './cache.ts';

const MOST = 500;
const EVERY_TEN_MINUTES = 600_000;
const MOST_PRUNED = 5_000;

/**
 * Ends commands that phones have not fetched in time, or have refused for now: the phone has not failed, and the sender
 * of the command is told. A command that was fetched but not answered ends with its lease, so no message is needed.
 * EraseDevice is answered once or never: if it expires, the phone has done it.
 */
export function createExpireCommands(tools: {
  commands: CommandCache;
  engine: Engine;
  presume: (client: Parameters<Duty['runOnce']>[0], one: Closed) => Promise<void>;
  publish: Publish;
}): Duty {
  const { commands, engine, presume, publish } = tools;
  return {
    name: 'mdm-expire-commands',
    everyMs: 1_000,
    due: hasCome(
      `${engine.schema}.mdm_commands`,
      'expires_at',
      'closed_at is null and expires_at is not null',
    ),
    whose: `select distinct m.tenant_id from ${engine.schema}.mdm_commands m
      where m.closed_at is null and m.expires_at is not null and m.expires_at <= $1::timestamptz`,
    async runOnce(client) {
      const closed = await commands.expire(client, MOST);
      const events = new Map<number, PhoneEvent[]>();
      for (const one of closed) {
        if (one.source === 'lane') await presume(client, one);
        const { tenantId, udid, commandUuid, wasFetched, wasRefusedForNow } = one;
        if (one.source !== 'bus' || (wasFetched && !wasRefusedForNow)) continue;
        const same = events.get(tenantId) ?? [];
        same.push({
          ...{ type: 'ACTION_FAILED', udid, commandUuid },
          payload: wasFetched
            ? { reason: 'device_timeout', not_now: true }
            : { reason: 'device_timeout', fetched: false },
        });
        events.set(tenantId, same);
      }
      for (const [tenantId, own] of events) await publish(client, tenantId, own);
      return dutyRun(closed.length, MOST);
    },
  };
}

export function createPruneCommands(engine: Engine, commands: CommandCache, days: number): Duty {
  return {
    name: 'prune-mdm-commands',
    everyMs: EVERY_TEN_MINUTES,
    async runOnce(client) {
      const before = new Date(engine.now().getTime() - days * 86_400_000);
      return dutyRun(await commands.prune(client, before, MOST_PRUNED), MOST_PRUNED);
    },
  };
}
