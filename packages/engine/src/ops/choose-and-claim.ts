import type { Calls } from '../calls.ts';
import { type ClaimedAction, type ClaimedRow, claimedAction } from '../claimed-action.ts';
import type { Queryable } from '../db.ts';
import type { Told } from '../effects.ts';
import type { Context, Run } from '../operation.ts';
import type { Transition } from '../transition.ts';
import { checkWhole } from '../values.ts';
import { laneKey } from '../wake-ups.ts';
import { lineOfKey } from './enqueue.ts';
import { CARRIED, created, statement } from './enqueue-and-claim.ts';
import { askForRunners, checkRunners, type RowForRunner } from './for-runners.ts';
import type { LaneRooms } from './lane-rooms.ts';

/**
 * Actions that the caller chooses by its own SQL, created as they are handed out: what `enqueueAndClaimMany` does, and
 * the choice before it and the caller's notes after it in the same statement, so that a free slot is filled in one round
 * trip instead of four. All of it sees one snapshot: what the choice relies on must be locked by it and checked again
 * (`for update` does that), as the engine does with its lanes and runners. A runner that another transaction has raised
 * since the snapshot gets nothing, and the statement is run again for it.
 */
export interface Choice {
  /** Of the statement. */
  readonly name: string;
  /** Of all actions that it may choose. */
  readonly channel: string;
  /**
   * Steps of a `with`. `f` has the claiming runners: ord, tenant_id, runner_id, running, free, and the request's `given`
   * (json); `$1` is the time. The step `chosen` has: of (ord), nth, lane_id, channel, kind, payload (json), o (options,
   * jsonb), lease_ms and told (jsonb). A row without a lane is not an action: its `told` is returned.
   */
  readonly choose: string;
  /**
   * Steps of a `with` about the rows of `k`, which were handed out: tenant_id, lane_id, action_id, payload, o. The step
   * `noted` has one row for each: otherwise all is rolled back.
   */
  readonly note: string;
}

export interface ChooseRequest {
  readonly tenantId: number;
  readonly runnerId: string;
  readonly worker: string;
  readonly most: number;
  readonly given: unknown;
}

export interface Chosen<T> {
  readonly actions: ClaimedAction[];
  /** Null: there was nothing to tell. */
  readonly told: T | null;
}

type Row = RowForRunner & ClaimedRow & { told: unknown; noted: number };

const COLUMNS = { worker: 'text', most: 'int', given: 'json' };

export function createChooseAndClaim(context: Context, calls: Calls, rooms: LaneRooms) {
  return <T>(choice: Choice) => {
    const askFor = context.effects.carry({
      name: `muster_${choice.name}`,
      text: () => chosenStatement(context, choice),
      ...CARRIED,
    });

    async function claim(client: Queryable, requests: readonly ChooseRequest[]): Promise<Run<Chosen<T>>> {
      const actions = new Map(requests.map((request) => [request, [] as ClaimedAction[]]));
      const tellings = new Map<ChooseRequest, T | null>();
      const transitions: Transition[] = [];
      const told: Told[] = [];
      async function ask(some: readonly ChooseRequest[]) {
        const asked = await askFor(
          client,
          [choice.channel],
          [
            context.now(),
            some.map(({ tenantId }) => tenantId),
            some.map(({ runnerId }) => runnerId),
            some.map(({ worker }) => worker),
            some.map(({ most }) => most),
            some.map(({ given }) => JSON.stringify(given)),
          ],
        );
        const rows = asked.rows as Row[];
        for (const row of rows) tellings.set(some[row.ord - 1] as ChooseRequest, row.told as T | null);
        if (rows.some(({ noted }) => noted !== rows.filter(({ nth }) => nth !== null).length))
          throw new Error('Not every action that was handed out was noted.');
        return asked;
      }
      await askForRunners<ChooseRequest, Row>(
        context,
        requests,
        ask,
        (request, row, facts) => {
          actions.get(request)?.push(claimedAction(row, facts));
          transitions.push(created(row));
        },
        told,
      );
      const answers = requests.map((request) => ({
        actions: actions.get(request) as ClaimedAction[],
        told: tellings.get(request) ?? null,
      }));
      return { answers, transitions, wakes: [], told };
    }

    /** One answer for each request: several runners, each named once. */
    return async (client: Queryable, requests: readonly ChooseRequest[]): Promise<Chosen<T>[]> => {
      checkRunners(requests);
      for (const { most } of requests) checkWhole(most, 'most', 0);
      const { answers } = await calls.inside(client, (inner) => claim(inner, requests));
      for (const { actions } of answers)
        for (const { tenantId, laneId } of actions) rooms.forget(lineOfKey(laneKey(tenantId, laneId)));
      return answers;
    };
  };
}

function chosenStatement({ depthLimit, schema }: Context, { choose, note }: Choice): string {
  const options = depthLimit === 1_000 ? 'c.o' : `c.o || '{"depthLimit": ${depthLimit}}'`;
  return statement(schema, {
    columns: COLUMNS,
    most: 'i.most',
    leaseMs: 'i.lease_ms',
    from: `(select c.of, c.nth, c.lane_id, c.channel, c.kind, c.payload, ${options} as o, c.lease_ms from chosen c where c.lane_id is not null) i`,
    steps: choose,
    followUp: note,
    answer: `(select c.told from chosen c where c.of = f.ord and c.lane_id is null limit 1) as told, (select count(*)::int from noted) as noted`,
  });
}
