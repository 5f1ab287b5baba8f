import { idArray, intArray, textArray } from '../binary-array.ts';
import { type ClaimedAction, claimedAction, sent, TOLD_OF_HAND_OUT } from '../claimed-action.ts';
import { ANSWER } from '../effects.ts';
import {
  HANDED_OUT,
  type HandedOutRow,
  handedOut,
  handedOutTransitions,
  handedOutWakes,
  handOut,
  leaseEnd,
  NOTHING_HANDED_OUT,
} from '../hand-out.ts';
import { BUSY, type Context, type Operation } from '../operation.ts';
import { Parts } from '../parts.ts';
import { ANY_CHANNEL, head, lockLanes, passesOver, pauses, rows } from '../sql.ts';
import { createRedeliver, exceptOf } from './redeliver.ts';

/**
 * Addressed claim: the caller names its lane. The lane's row is read, its head looked up, the row locked (or skipped,
 * if another transaction has it) and updated only if its version is still the one that was read: every change of the
 * lane or its pending rows raises it. Without that check 347 double leases were seen in five seconds.
 */
export interface ClaimItem {
  readonly tenantId: number;
  readonly laneId: string;
  readonly channel: string;
  readonly worker: string;
  readonly leaseMs: number;
  /** The worker's generation, if it knows it. */
  readonly generation?: number | undefined;
  /** Never this action, or these: its report, or the caller itself, has just refused it. */
  readonly except?: string | readonly string[] | undefined;
}

export type ClaimAnswer =
  | { readonly kind: 'claimed'; readonly action: ClaimedAction }
  | { readonly kind: 'empty' | 'held' | 'unknown-lane' | 'wrong-generation' };

interface Row extends HandedOutRow {
  ord: number;
  known: boolean;
  right_generation: boolean;
  held_by: string | null;
}

export function createClaim(context: Context): Operation<ClaimItem, ClaimAnswer> {
  const redeliver = createRedeliver(context);
  const ask = context.effects.carry({
    name: 'muster_claim',
    text: (ends) => statement(context.schema, ends),
    told: `answer.ord, answer.known, answer.right_generation, answer.held_by, ${TOLD_OF_HAND_OUT}`,
    transitions: HANDED_OUT,
  });
  return {
    name: 'claim',
    key: (item) => `${item.tenantId}:${item.laneId}`,
    claims: ({ tenantId, laneId, worker }) => ({ tenantId, laneId, worker }),
    async run(client, items, commitEach = false) {
      const channels = [...items.map((item) => item.channel), ANY_CHANNEL];
      const now = context.now();
      const { rows: found, told, factsOf } = await ask(client, channels, values(now, items));
      // a row missing in the answer lost its lane to another transaction between look and lock
      const parts = new Parts<ClaimAnswer>(items.length, commitEach);
      const { answers, transitions, wakes } = parts;
      answers.fill(BUSY);
      parts.told.push(...told);
      const toRedeliver: number[] = [];
      for (const row of found as Row[]) {
        const at = row.ord - 1;
        if (row.action_id) {
          const taken = claimedRow(row, items[at] as ClaimItem, now);
          answers[at] = { kind: 'claimed', action: claimedAction(taken, factsOf(row.action_id)) };
          transitions.push(...handedOutTransitions(taken));
          wakes.push(...handedOutWakes(taken));
        } else if (!row.known) {
          answers[at] = { kind: 'unknown-lane' };
        } else if (!row.right_generation) {
          answers[at] = { kind: 'wrong-generation' };
        } else if (row.held_by !== null) {
          answers[at] = { kind: 'held' };
          if (row.held_by === items[at]?.worker) toRedeliver.push(at);
        } else {
          answers[at] = { kind: 'empty' };
        }
      }
      await parts.add(toRedeliver, async () => {
        const again = await redeliver(
          client,
          toRedeliver.map((at) => items[at] as ClaimItem),
        );
        return {
          answers: again.found.map((row) => {
            if (row === null) return { kind: 'held' };
            if (row === BUSY) return BUSY;
            return { kind: 'claimed', action: claimedAction(row, again.factsOf(row.action_id), true) };
          }),
          transitions: again.found.flatMap((row) => (row && row !== BUSY ? [sent(row, 'REDELIVERED')] : [])),
          wakes: [],
          told: again.told,
        };
      });
      return parts.result();
    },
  };
}

const values = (now: Date, items: readonly ClaimItem[]): unknown[] => [
  now,
  intArray(items.map((item) => item.tenantId)),
  idArray(items.map((item) => item.laneId)),
  textArray(items.map((item) => item.channel)),
  textArray(items.map((item) => item.worker)),
  intArray(items.map((item) => item.leaseMs)),
  intArray(items.map((item) => item.generation ?? null)),
  textArray(items.map(exceptOf)),
];

/** Adds what the claim itself contains. */
const claimedRow = (row: Row, { tenantId, worker }: ClaimItem, now: Date): HandedOutRow => ({
  tenant_id: tenantId,
  lane_id: row.lane_id,
  runner_id: row.runner_id,
  action_id: row.action_id,
  attempt: row.attempt,
  leased_at: now,
  lease_until: row.lease_until,
  worker,
  cancel_requested: false,
  ends: row.ends,
  channel: row.channel,
  kind: row.kind,
  payload: row.payload,
  tags: row.tags,
  priority: row.priority,
  max_attempts: row.max_attempts,
  created_at: row.created_at,
  created_by: row.created_by,
});

const statement = (s: string, ends: string | null) => `
  with ${pauses(s)}, h as materialized (
    select i.ord, i.tenant_id, i.lane_id, i.worker, ${leaseEnd('coalesce(n.lease_ms, i.lease_ms)', 'n.deadline')}, l.ver, l.worker as held_by,
      coalesce(i.generation = l.generation, l.generation is not null) as right_generation, l.ver is not null as known,
      l.runner_id, n.action_id, n.attempt, n.channel
    from ${rows(2, { tenant_id: 'int', lane_id: 'bigint', channel: 'text', worker: 'text', lease_ms: 'int', generation: 'int', except_actions: 'text' })}
    left join lateral (
      select * from ${s}.lanes l where l.tenant_id = i.tenant_id and l.lane_id = i.lane_id and not l.closing limit 1
    ) l on true
    left join pz on pz.tenant_id = i.tenant_id
    left join lateral (${head(s, {
      channel: 'i.channel',
      when: 'l.action_id is null and (i.generation is null or i.generation = l.generation)',
      except: 'i.except_actions',
      passes: passesOver(s, 'i.except_actions'),
    })}) n on true
  ), k as materialized (${lockLanes(s, 'h', 'x.action_id is not null')}
  ), ${handOut(s, { leaseRunner: 'null::bigint', ends })}
  ${ANSWER}
  ${handedOut(s, 'k.ord::int, true as known, true as right_generation, null::text as held_by', ends)}
  union all
  select h.ord::int, h.known, h.right_generation, h.held_by, ${NOTHING_HANDED_OUT} from h where h.action_id is null`;
