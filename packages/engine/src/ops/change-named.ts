import { EVENT_TYPES, eventName } from '../action.ts';
import { BUSY, type Busy, type Context, type Operation } from '../operation.ts';
import { actionOf, endingOf, pendingOf, presentLane, rows } from '../sql.ts';
import type { Transition, Wake } from '../transition.ts';

/**
 * An operator's change to one named action. The action is read in its present state. If the state allows the change, it
 * is made; if another transaction was faster, the action is read again.
 */
export interface ActionRef {
  readonly tenantId: number;
  readonly actionId: string;
  readonly reason?: string | undefined;
}

export interface Answer<Outcome extends string> {
  readonly outcome: Outcome | 'unknown';
  /** The state now; null for an unknown action. */
  readonly state: string | null;
}

/** A row of such a statement's answer. */
interface Row {
  ord: number;
  tenant_id: number;
  lane_id: string;
  runner_id: string | null;
  /** The runner that holds it, if it is told to stop. */
  stops: string | null;
  action_id: string;
  channel: string;
  attempt: number;
  /** The state in which it was read. */
  before: Transition['before'];
  is_done: boolean;
  /** For a change that depends on more than the state. */
  may_be?: boolean;
  /** The event that was written; null: none. */
  type: number | null;
  state: string;
  why: string | null;
  at: Date;
}

/** `x`: the named actions as they are, with the version of their lanes and `more`. */
export const lookAtNamed = (s: string, more: string) => `x as materialized (
    select i.ord, i.tenant_id, l.lane_id, l.ver, l.runner_id, l.lease_runner, i.action_id, a.channel, i.reason,
      coalesce(z.state, case when l.action_id = i.action_id then 'claimed' else 'pending' end) as before,
      coalesce(z.attempt, case when l.action_id = i.action_id then l.attempt else p.attempt end) as attempt, ${more}
    from ${rows(2, { tenant_id: 'int', action_id: 'bigint', reason: 'text' })}
    cross join lateral ${actionOf(s, 'i')}
    left join lateral ${pendingOf(s, 'i')} on true
    cross join lateral ${presentLane(s)}
    left join lateral ${endingOf(s, 'i')} on true
  )`;

export function createNamedChange<Outcome extends string>(
  context: Context,
  on: {
    readonly name: string;
    readonly statement: string;
    /** Items with an equal key never share a statement; by default the action. */
    readonly key?: (item: ActionRef) => string;
    /**
     * The outcome for an action read in that state; BUSY: the change was possible, but another transaction was faster.
     */
    readonly outcomeOf: (before: Row['before'], isDone: boolean, mayBe: boolean) => Outcome | Busy;
  },
): Operation<ActionRef, Answer<Outcome>> {
  const ask = context.effects.carry({
    name: `muster_${on.name.replaceAll('-', '_')}`,
    text: () => on.statement,
    transitions: `select tenant_id, lane_id, action_id, channel, array[type::int], before, state, attempt, why, at from answer where type is not null`,
  });
  return {
    name: on.name,
    key: on.key ?? ((item) => `${item.tenantId}:${item.actionId}`),
    touches: ({ tenantId, actionId }) => ({ tenantId, actionId }),
    async run(client, items) {
      const { rows: found, told } = await ask(client, null, [
        context.now(),
        items.map((item) => item.tenantId),
        items.map((item) => item.actionId),
        items.map((item) => item.reason ?? null),
      ]);
      const answers: (Answer<Outcome> | Busy)[] = items.map(() => ({ outcome: 'unknown', state: null }));
      const transitions: Transition[] = [];
      const wakes: Wake[] = [];
      for (const row of found as Row[]) {
        const outcome = on.outcomeOf(row.before, row.is_done, row.may_be ?? false);
        answers[row.ord - 1] =
          outcome === BUSY ? BUSY : { outcome, state: row.is_done ? row.state : row.before };
        if (row.type !== null) transitions.push(transitionOf(row, row.type));
        // the action, or the one behind it, may now be at the head
        if (row.is_done && row.state !== 'claimed')
          wakes.push({
            ...{ tenantId: row.tenant_id, laneId: row.lane_id, runnerId: row.runner_id },
            fills: row.type === EVENT_TYPES.REDRIVEN,
          });
        if (row.stops) wakes.push({ tenantId: row.tenant_id, runnerId: row.stops, stops: true });
      }
      return { answers, transitions, wakes, told };
    },
  };
}

const transitionOf = (row: Row, type: number): Transition => ({
  tenantId: row.tenant_id,
  laneId: row.lane_id,
  actionId: row.action_id,
  channel: row.channel,
  events: [eventName(type)],
  before: row.before,
  state: row.state,
  attempt: row.attempt,
  reason: row.why,
  at: row.at,
});
