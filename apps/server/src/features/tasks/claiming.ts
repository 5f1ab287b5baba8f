import { BoundedMap, type ClaimedAction, type Engine, whileLocked } from '@muster/engine';
import { WHOLE_FLEET } from '../../fleet/index.ts';
import type { HandOut, To } from '../../http/hand-out.ts';
import type { Advance } from './advance-tasks.ts';
import type { HandedToPcs } from './handed.ts';
import type { Metrics } from './metrics.ts';
import type { Runner } from './runner-access.ts';
import type { Supplied, Supply, Wish } from './supply.ts';
import type { TaskQueries } from './task-queries.ts';
import { payloadOf, wireClaimed } from './wire.ts';

/** Hands work to the runner at the other end of a socket. */
const MOST_AT_ONCE = 100;
/** Payloads of tasks never change, so they are cached; a few large ones must not fill the memory. */
const MOST_PAYLOADS = 100;

const NOTHING: Supplied = { actions: [], taskId: null, isFull: false };

export type Claiming = ReturnType<typeof createClaiming>;

export interface ToRunner extends To {
  readonly runner: Runner;
}

export function createClaiming(tools: {
  advance: Advance;
  engine: Engine;
  handed: HandedToPcs;
  handOut: HandOut;
  metrics: Metrics;
  supply: Supply;
  tasks: TaskQueries;
}) {
  const { advance, engine, handed, handOut, metrics, supply, tasks } = tools;
  const { db } = engine;
  // PCs that ask at the same moment are served in one transaction (a thousand of them: 237 → 1,000 devices a second)
  const claimDevices = engine.supplied<Wish, Supplied>({
    name: 'claim-task-devices',
    runnerOf: ({ runner }) => runner,
    supply: (tx, wishes) => supply.claim(tx, wishes),
    actionsOf: ({ actions }) => actions,
    giveBack: handOut.release,
    async mayBeMore({ runner: { tenantId } }, { taskId, isFull }) {
      if (isFull) return false;
      const active = await advance.look(tenantId);
      // The previous task has just ended, or this one is new: advance it now instead of waiting for housekeeping.
      if (active.isDue) await whileLocked(db, (tx) => advance.now(tx, tenantId), WHOLE_FLEET);
      return active.isDue || active.taskId !== taskId;
    },
  });
  const payloads = new BoundedMap<string, unknown>(MOST_PAYLOADS);

  async function payloadOfTask(tenantId: number, taskId: string): Promise<unknown> {
    const key = `${tenantId}:${taskId}`;
    const known = payloads.get(key);
    if (known !== undefined) return known;
    const payload = await tasks.payloadOf(db, tenantId, taskId);
    payloads.set(key, payload);
    return payload;
  }

  /** Adds the payloads of their tasks. */
  async function describe(runner: Pick<Runner, 'tenantId' | 'pcId'>, actions: readonly ClaimedAction[]) {
    const described: ReturnType<typeof wireClaimed>[] = [];
    for (const action of actions) {
      const { taskId } = payloadOf(action);
      described.push(wireClaimed(action, runner.pcId, await payloadOfTask(runner.tenantId, taskId)));
      handed.remember(runner.tenantId, action.id, {
        pcId: runner.pcId,
        attempt: action.attempt,
        at: action.leasedAt,
      });
    }
    return described;
  }

  return {
    describe,

    /** Newly handed out. */
    async claim(to: ToRunner, wish: { max?: number | undefined; wait?: number | undefined }) {
      const { runner } = to;
      const max = wish.max ?? MOST_AT_ONCE;
      const began = performance.now();
      const { tenantId } = runner;
      const { actions: claimed } = await handOut.claim(
        to,
        wish.wait ?? 0,
        (waiting) => claimDevices({ runner, max }, waiting),
        NOTHING,
      );
      metrics.claimed(tenantId, claimed, (performance.now() - began) / 1_000);
      return handOut.give(to, claimed, () => describe(runner, claimed));
    },
  };
}
