import type { Queryable } from '@muster/engine';
import { laterBy } from '../../../database/later-by.ts';
import { ERASE } from '../written-commands.ts';
import { calledAgain } from './settle.ts';

/** A command to hand out. */
export interface NewCommand {
  readonly udid: string;
  readonly commandUuid: string;
  readonly source: 'bus' | 'lane' | 'own';
  readonly requestType: string;
  readonly payload: object;
  readonly expiresAt?: Date | null;
}

/** A command that is no longer handed out. */
export interface Closed {
  readonly tenantId: number;
  readonly udid: string;
  readonly commandUuid: string;
  readonly source: NewCommand['source'];
  readonly actionId: string | null;
  readonly attempt: number | null;
  readonly wasFetched: boolean;
  readonly wasRefusedForNow: boolean;
}

export function createCommandCache(s: string, now: () => Date) {
  // biome-ignore lint/suspicious/noExplicitAny: a row of the statements below
  const closed = (row: any): Closed => ({
    tenantId: row.tenant_id,
    udid: row.udid,
    commandUuid: row.command_uuid,
    source: row.source,
    actionId: row.action_id,
    attempt: row.attempt,
    wasFetched: row.fetched_at !== null,
    wasRefusedForNow: row.not_now_at !== null,
  });
  const CLOSED =
    'm.tenant_id, m.udid, m.command_uuid, m.source, m.action_id, m.attempt, m.fetched_at, m.not_now_at';

  return {
    /**
     * Adds commands and returns the new ones; a known one stays as it is, whatever its state. If it comes with an
     * earlier end, it was withdrawn and gets that end. An answer of a phone that has already fetched it still counts.
     */
    async add(tx: Queryable, tenantId: number, commands: readonly NewCommand[]): Promise<Set<string>> {
      const { rows } = await tx.query({
        name: 'muster_mdm_add_commands',
        text: `insert into ${s}.mdm_commands as m (created_at, tenant_id, udid, command_uuid, source, request_type, payload, expires_at)
          select $1::timestamptz, $2::int, i.* from unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::jsonb[], $8::timestamptz[])
            i(udid, command_uuid, source, request_type, payload, expires_at)
          on conflict (tenant_id, udid, command_uuid) do update set expires_at = excluded.expires_at
            where m.closed_at is null and m.expires_at > excluded.expires_at
          returning command_uuid, xmax = 0 as is_new`,
        values: [
          now(),
          tenantId,
          commands.map((one) => one.udid),
          commands.map((one) => one.commandUuid),
          commands.map((one) => one.source),
          commands.map((one) => one.requestType),
          commands.map((one) => JSON.stringify(one.payload)),
          commands.map((one) => one.expiresAt ?? null),
        ],
      });
      return new Set(rows.filter((row) => row.is_new).map((row) => row.command_uuid));
    },

    /** Closes the commands of a phone that has left or cannot be reached. Commands of lanes end with their actions. */
    async closeAll(
      tx: Queryable,
      tenantId: number,
      udid: string,
      sources: readonly NewCommand['source'][] = ['bus', 'own'],
    ): Promise<Closed[]> {
      const { rows } = await tx.query({
        text: `update ${s}.mdm_commands m set closed_at = $3::timestamptz
          where m.tenant_id = $1 and m.udid = $2 and m.closed_at is null and ${s}.sought_by(m.seq) and m.source = any($4::text[]) returning ${CLOSED}`,
        values: [tenantId, udid, now(), sources],
      });
      return rows.map(closed);
    },

    async close(tx: Queryable, tenantId: number, udid: string, commandUuid: string): Promise<Closed | null> {
      const { rows } = await tx.query({
        text: `update ${s}.mdm_commands m set closed_at = $4::timestamptz
          where m.tenant_id = $1 and m.udid = $2 and m.command_uuid = $3 and m.closed_at is null returning ${CLOSED}`,
        values: [tenantId, udid, commandUuid, now()],
      });
      return rows[0] ? closed(rows[0]) : null;
    },

    /** Closes expired commands, oldest first. */
    async expire(tx: Queryable, most: number): Promise<Closed[]> {
      const { rows } = await tx.query({
        name: 'muster_mdm_expire',
        text: `update ${s}.mdm_commands m set closed_at = $1::timestamptz
          from (
            select m.tenant_id, m.udid, m.command_uuid from ${s}.mdm_commands m
            where m.closed_at is null and m.expires_at is not null and m.expires_at <= $1::timestamptz
            order by m.expires_at limit ${most} for update skip locked
          ) x
          where m.tenant_id = any(array[x.tenant_id]) and m.udid = x.udid and m.command_uuid = x.command_uuid
          returning ${CLOSED}`,
        values: [now()],
      });
      return rows.map(closed);
    },

    /**
     * An attempt of an action is now with the phone; an earlier attempt of the same command is closed. The phone is
     * watched until it has answered: if it fetches the command again, it has not done it.
     */
    async hand(
      tx: Queryable,
      tenantId: number,
      command: NewCommand & { readonly actionId: string; readonly attempt: number; readonly again: boolean },
    ): Promise<void> {
      await tx.query({
        text: `with watched as (
            update ${s}.mdm_devices d set watched_at = case when w.is_seen then $1 else d.watched_at end, refusals = d.refusals + w.again::int,
              erased_at = case when w.is_erase then $1 else d.erased_at end,
              call_after = case when w.again then ${laterBy('$1::timestamptz', calledAgain('d.refusals'))} when $10 then d.call_after end
            from (
              select a.again, $5 = '${ERASE}' as is_erase, a.again or d.watched_at is null or (not $10 and d.call_after is not null) as is_seen
              from ${s}.mdm_devices d
              cross join lateral (select $10::boolean and (d.call_after is null or d.call_after <= $1::timestamptz) as again) a
              where d.tenant_id = $2 and d.udid = $3
            ) w
            where d.tenant_id = $2 and d.udid = $3 and (w.is_seen or w.is_erase)
          )
          insert into ${s}.mdm_commands (created_at, fetched_at, tenant_id, udid, command_uuid, source, request_type, payload, action_id, attempt, expires_at)
          values ($1, $1, $2, $3, $4, 'lane', $5, $6, $7, $8, $9)
          on conflict (tenant_id, udid, command_uuid) do update set fetched_at = excluded.fetched_at, action_id = excluded.action_id,
            attempt = excluded.attempt, expires_at = excluded.expires_at, not_now_at = null, aside = false, closed_at = null, answered_at = null, answer = null, status = null`,
        values: [
          ...[
            now(),
            tenantId,
            command.udid,
            command.commandUuid,
            command.requestType,
            JSON.stringify(command.payload),
          ],
          ...[command.actionId, command.attempt, command.expiresAt ?? null, command.again],
        ],
      });
    },

    async isKnown(client: Queryable, tenantId: number, udid: string, commandUuid: string): Promise<boolean> {
      const { rows } = await client.query({
        text: `select 1 from ${s}.mdm_commands where tenant_id = $1 and udid = $2 and command_uuid = $3`,
        values: [tenantId, udid, commandUuid],
      });
      return rows.length > 0;
    },

    /** Stores the phone's answer before it is passed on: if this node dies in between, the phone repeats it. */
    async keepAnswer(
      client: Queryable,
      tenantId: number,
      of: { udid: string; commandUuid: string },
      answer: unknown,
    ) {
      await client.query({
        text: `update ${s}.mdm_commands set answer = $4 where tenant_id = $1 and udid = $2 and command_uuid = $3`,
        values: [tenantId, of.udid, of.commandUuid, JSON.stringify(answer)],
      });
    },

    async answerOf(client: Queryable, tenantId: number, udid: string, actionId: string): Promise<unknown> {
      const { rows } = await client.query({
        text: `select answer from ${s}.mdm_commands
          where tenant_id = $1 and action_id = $2 and ${s}.sought_by(action_id) and action_id is not null and udid = $3`,
        values: [tenantId, actionId, udid],
      });
      return rows[0]?.answer ?? null;
    },

    /** Deletes at most this many old ones; returns how many. */
    async prune(tx: Queryable, before: Date, most: number): Promise<number> {
      const { rows } = await tx.query({
        text: `delete from ${s}.mdm_commands m using (
            select m.tenant_id, m.udid, m.command_uuid from ${s}.mdm_commands m
            where m.closed_at is not null and m.closed_at <= $1::timestamptz order by m.closed_at limit ${most}
          ) x
          where m.tenant_id = any(array[x.tenant_id]) and m.udid = x.udid and m.command_uuid = x.command_uuid returning 1`,
        values: [before],
      });
      return rows.length;
    },
  };
}

export type CommandCache = ReturnType<typeof createCommandCache>;
