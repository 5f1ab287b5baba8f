import { EVENT_TYPES } from './action.ts';
import { statement as claimNamed } from './ops/claim-named.ts';
import { statement as enqueueAndClaim } from './ops/enqueue-and-claim.ts';
import { runningOf } from './ops/runner-slots.ts';
import { statement as report } from './report/statement.ts';
import { first, head, pauses, takesNew, urgentElsewhere } from './sql.ts';

/**
 * Pieces of the library's statements that migrations install as functions, so that plain-SQL callers get the same
 * text and not a copy. A migration names one in braces, as it does the schema. After a release, a change to one of
 * them needs a migration that installs it anew; the catalogue shows the difference.
 */
export const installedSql = (s: string): Readonly<Record<string, string>> => ({
  claim_named_statement: claimNamed(s),
  created: String(EVENT_TYPES.CREATED),
  enqueue_and_claim_statement: enqueueAndClaim(s),
  event_names: EVENT_NAMES,
  lane_front: laneFront(s),
  noted: String(EVENT_TYPES.NOTED),
  report_statement: report({ schema: s }),
  running_of_runner: runningOf(s, 'r'),
  sent: String(EVENT_TYPES.SENT),
  succeeded: String(EVENT_TYPES.SUCCEEDED),
  urgent_elsewhere: urgentOfLane(s),
});

/** The name of an event type is at the index of its number. */
const EVENT_NAMES = `(array[${Object.entries(EVENT_TYPES)
  .sort(([, a], [, b]) => a - b)
  .map(([name]) => `'${name}'`)
  .join(', ')}])`;

const ON = { channel: '$4', when: 'l.action_id is null', except: 'null' };

/** Only requested columns cost a look-up: the planner drops the sub-select of a column that is not read. */
const laneFront = (s: string) => `
  with ${pauses(s)}
  select l.lane_id, l.paused or l.blocked is not null as is_stopped, coalesce(pz.everything or pz.tags && $5, false) as is_paused,
    l.action_id as leased_action,
    (select p.action_id from (${first(s, ON)}) p) as first_action,
    (select p.action_id from (${head(s, ON)}) p) as hands_out,
    ${takesNew(s, { channel: '$4', priority: '1', tags: '$5' })} as takes_new
  from (select * from ${s}.lanes l where l.tenant_id = $2 and l.lane_id = $3 and not l.closing limit 1) l
  left join pz on pz.tenant_id = $2`;

const urgentOfLane = (s: string) => `
  with ${pauses(s)}
  select u.action_id, u.channel, u.until
  from (select * from ${s}.lanes l where l.tenant_id = $2 and l.lane_id = $3 limit 1) l
  left join pz on pz.tenant_id = $2
  cross join lateral (${urgentElsewhere(s, '$4')}) u`;
