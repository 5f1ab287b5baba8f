import type { ClaimedAction, Engine, Queryable } from '@muster/engine';
import { choose, LOOK_NAME, note } from './choose-devices.ts';
import type { Runner } from './runner-access.ts';
import { CHANNEL } from './wire.ts';

/**
 * What PCs get when they ask: devices of the active task that are to be tried again, then new actions, created as they
 * are handed out, one for each free slot. One transaction serves all PCs that ask at the same moment. What is new is
 * found, handed out and written down in one statement; what is to be tried again is rare and takes a second one.
 */
export interface Supplied {
  readonly actions: ClaimedAction[];
  /** The active task at the time of the look. */
  readonly taskId: string | null;
  /** No slot was free, whatever the task has. */
  readonly isFull: boolean;
}

export interface Wish {
  readonly runner: Runner;
  readonly max: number;
}

/** What the look tells of a PC; nothing if no task is active. */
interface Look {
  readonly taskId: string;
  readonly timeoutSeconds: number;
  readonly free: number;
  /** How many devices it found that are new, and the actions to be tried again. */
  readonly fresh: number;
  readonly again: readonly string[];
}

/** Another transaction may take a lane between look and lock; then other devices may still be available. */
const MOST_ROUNDS = 5;

export type Supply = ReturnType<typeof createSupply>;

export function createSupply(engine: Engine) {
  const { schema: s } = engine;
  const supplyNew = engine.choosing<Look>({
    name: LOOK_NAME,
    channel: CHANNEL,
    choose: choose(s),
    note: note(s, engine.db.isDistributed),
  });

  interface Found {
    /** The number of its wish. */
    readonly n: number;
    readonly look: Look;
    readonly fresh: ClaimedAction[];
    readonly again: ClaimedAction[];
  }

  /** One round for the wishes with these numbers. Nothing is returned for those of a tenant without an active task. */
  async function supplyOnce(
    client: Queryable,
    wishes: readonly { readonly n: number; readonly runner: Runner; readonly most: number }[],
  ): Promise<Found[]> {
    const chosen = await supplyNew(
      client,
      wishes.map(({ most, runner: { pcId, runnerId, tenantId, worker } }) => ({
        tenantId,
        runnerId,
        worker,
        most,
        given: { pcId },
      })),
    );
    const found = chosen.flatMap(({ actions, told }, at) =>
      told === null ? [] : [{ look: told, fresh: actions, ...(wishes[at] as (typeof wishes)[number]) }],
    );
    const toTry = found.filter(({ look }) => look.again.length > 0);
    const tried = await engine.claimNamedMany(
      client,
      toTry.map(({ look, runner: { runnerId, tenantId, worker } }) => ({
        tenantId,
        runnerId,
        worker,
        leaseMs: look.timeoutSeconds * 1_000,
        actionIds: look.again,
      })),
    );
    return found.map((one) => Object.assign(one, { again: tried[toTry.indexOf(one)] ?? [] }));
  }

  return {
    /** One answer for each wish; a PC occurs once. */
    async claim(client: Queryable, wishes: readonly Wish[]): Promise<Supplied[]> {
      const supplied = wishes.map((): Supplied => ({ actions: [], taskId: null, isFull: false }));
      let left = wishes.map((_, n) => n);
      for (let round = 0; round < MOST_ROUNDS && left.length > 0; round += 1) {
        const found = await supplyOnce(
          client,
          left.map((n) => {
            const { runner, max } = wishes[n] as Wish;
            return { n, runner, most: max - (supplied[n] as Supplied).actions.length };
          }),
        );
        const lost: number[] = [];
        for (const { again, fresh, look, n } of found) {
          const got = [...again, ...fresh];
          supplied[n] = {
            actions: [...(supplied[n] as Supplied).actions, ...got],
            taskId: look.taskId,
            isFull: look.free === 0,
          };
          if (got.length < look.again.length + look.fresh) lost.push(n);
        }
        left = lost;
      }
      return supplied;
    },
  };
}
