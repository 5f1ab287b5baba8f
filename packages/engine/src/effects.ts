import type { ActionState } from './action.ts';
import type { Queryable } from './db.ts';

/**
 * A door's follow-up to transitions of its channels: SQL that the engine appends to the statement that makes them. It
 * is part of the same transaction, whatever causes the transition (housekeeping too), and costs no round trip. If it
 * fails, the statement fails too: the items are then tried alone, and only the bad one fails.
 *
 * All parts of a statement see the database as it was before, so an effect does not see what its own statement
 * writes; the transitions tell it what it needs. In a caller's transaction it sees earlier statements of that
 * transaction.
 */
export interface Effect {
  /** Prefix of its names in the statement. */
  readonly name: string;
  readonly channels: readonly string[];
  /**
   * The follow-up. `own` makes a name unique to this effect; `own('tr')` holds the transitions: n (their order),
   * tenant_id, lane_id, action_id, channel, events (numbers, in their order), before, state, attempt, reason, at.
   * `$1` is the time. `changes` are those that the statement can make: steps for others only take time (a third of a
   * report of one success), and null stands for no follow-up at all.
   */
  sql(own: (name: string) => string, changes: Changes): EffectSql | null;
  /**
   * Whether the hand-out of row `row` (tenant_id, lane_id, action_id) is also its success, so that no report follows.
   */
  endsOnDelivery?(row: string): string;
  /** Called after the commit with what `facts` found; not in a transaction on a caller's client. */
  afterCommit?(facts: readonly Facts[]): void;
}

/** The states before (null: none, it is created) and after; null: any. */
export type Changes = readonly (readonly [before: ActionState | null, state: ActionState])[] | null;

export interface EffectSql {
  /** Steps of a `with`. A writing step always runs; a reading one only if something else reads it. */
  readonly steps: string;
  /**
   * A select of action_id and facts (jsonb): they are returned with the answer, as `facts` of the handed-out action.
   */
  readonly facts?: string;
}

export type Facts = Readonly<Record<string, unknown>>;

/** What an effect returned about an action. */
export interface Told {
  readonly effect: Effect;
  readonly actionId: string;
  readonly facts: Facts;
}

/** Placed before the last select of a statement whose transitions may have effects. */
export const ANSWER = '/* answer */';

/** A statement that can carry effects; $1 is the time. */
export interface CarryingStatement {
  readonly name: string;
  /** `ends` is given where some hand-outs are successes: a condition on a row `k`. */
  readonly text: (ends: string | null) => string;
  /** Its transitions, as a select from `answer`, with the columns of `Effect.sql` in order, except n. */
  readonly transitions: string;
  /** The state changes among its transitions; by default any. */
  readonly changes?: Changes;
  /** The answer's columns to return, if not all: what the caller itself sent is only for effects. */
  readonly told?: string;
  /** The sort order of the answer, by its columns. */
  readonly order?: string;
}

interface Asked {
  // biome-ignore lint/suspicious/noExplicitAny: rows have the shape of the statement that asked for them
  readonly rows: any[];
  readonly told: Told[];
  readonly factsOf: (actionId: string) => Facts | undefined;
}

/** The statement with the effects of these channels; null: of all; []: of none. */
export type Ask = (
  client: Queryable,
  channels: readonly string[] | null,
  values: unknown[],
) => Promise<Asked>;

export class Effects {
  readonly #all: Effect[] = [];

  add(effect: Effect): void {
    if (!/^[a-z_]{1,20}$/.test(effect.name) || this.#all.some(({ name }) => name === effect.name))
      throw new Error(`The effect name ${effect.name} is invalid or already taken.`);
    this.#all.push(effect);
  }

  /** Texts are made once for each set of effects; with no effects the statement is unchanged. */
  carry(statement: CarryingStatement): Ask {
    const texts = new Map<string, { name: string; text: string }>();
    return async (client, channels, values) => {
      const effects = this.#of(channels);
      // Short names, because PostgreSQL cuts names at 63 bytes, and two that are cut alike would clash.
      const key = effects.reduce((sum, effect) => sum + 2 ** this.#all.indexOf(effect), 0).toString(36);
      let query = texts.get(key);
      if (!query) {
        const name = effects.length === 0 ? statement.name : `${statement.name}+${key}`;
        query = { name, text: textWith(statement, effects) };
        texts.set(key, query);
      }
      const { rows } = await client.query({ name: query.name, text: query.text, values });
      return effects.length === 0 ? { rows, told: [], factsOf: nothing } : split(rows, effects);
    };
  }

  afterCommit(told: readonly Told[]): void {
    for (const effect of new Set(told.map((one) => one.effect)))
      effect.afterCommit?.(told.filter((one) => one.effect === effect).map(({ facts }) => facts));
  }

  #of(channels: readonly string[] | null): readonly Effect[] {
    if (channels === null || this.#all.length === 0) return this.#all;
    return this.#all.filter((effect) => effect.channels.some((channel) => channels.includes(channel)));
  }
}

const nothing = () => undefined;
const literal = (text: string) => `'${text.replaceAll("'", "''")}'`;
const inChannels = (row: string, { channels }: Effect) =>
  `${row}.channel in (${channels.map(literal).join(', ')})`;

function textWith(statement: CarryingStatement, effects: readonly Effect[]): string {
  const ends = effects.flatMap((effect) =>
    effect.endsOnDelivery ? [`(${inChannels('k', effect)} and ${effect.endsOnDelivery('k')})`] : [],
  );
  const text = statement.text(ends.length > 0 ? ends.join(' or ') : null);
  const order = statement.order ? ` order by ${statement.order}` : '';
  const [steps, answer, ...rest] = text.split(ANSWER);
  if (steps === undefined || !answer || rest.length > 0) throw new Error(`${statement.name} has no answer.`);
  const followUps = effects.flatMap((effect) => {
    const own = (name: string) => `${effect.name}_${name}`;
    const sql = effect.sql(own, statement.changes ?? null);
    return sql === null ? [] : [{ effect, own, ...sql }];
  });
  if (followUps.length === 0)
    return `${steps}${statement.told ? `select ${statement.told} from (${answer}) answer` : answer}${order}`;
  const told = statement.told ?? 'answer.*';
  const parts = followUps.map(({ effect, own, steps: more, facts }) => ({
    steps: `${own('tr')} as materialized (select * from transitions t where ${inChannels('t', effect)}), ${more}`,
    facts: facts
      ? [
          `select ${told}, ${literal(effect.name)}, f.action_id, f.facts from (${facts}) f left join answer on false`,
        ]
      : [],
  }));
  // Facts are separate rows: joined, the planner would compare all answers with all facts.
  return `${steps === '' ? 'with' : `${steps},`} answer as materialized (${answer}), transitions as materialized (
      select row_number() over ()::int as n, t.* from (${statement.transitions}) t(${COLUMNS})
    ), ${parts.map((part) => part.steps).join(', ')}
    select ${told}, null::text as effect_name, null::bigint as effect_action, null::jsonb as effect_facts from answer
    ${parts.flatMap((part) => part.facts.map((facts) => `union all ${facts}`)).join(' ')}${order}`;
}

const COLUMNS = 'tenant_id, lane_id, action_id, channel, events, before, state, attempt, reason, at';

function split(all: Asked['rows'], effects: readonly Effect[]): Asked {
  const rows: Asked['rows'] = [];
  const told: Told[] = [];
  const byAction = new Map<string, Facts>();
  for (const row of all) {
    const effect = row.effect_name && effects.find(({ name }) => name === row.effect_name);
    if (!effect) {
      rows.push(row);
      continue;
    }
    const [actionId, facts] = [row.effect_action, row.effect_facts];
    told.push({ effect, actionId, facts });
    const known = byAction.get(actionId);
    byAction.set(actionId, known ? { ...known, ...facts } : facts);
  }
  return { rows, told, factsOf: (actionId) => byAction.get(actionId) };
}
