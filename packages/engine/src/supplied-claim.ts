import type { Calls } from './calls.ts';
import type { ClaimedAction } from './claimed-action.ts';
import type { createClaiming, Wait } from './claiming.ts';
import type { Queryable } from './db.ts';

/**
 * Claims of runners whose actions the caller chooses or makes on request. Claims made at the same moment are served in
 * one transaction, each runner once. A runner that gets nothing waits and is served again when it is woken; what comes
 * too late for its caller goes back.
 */
export interface Supplier<Wish, Answer> {
  readonly name: string;
  runnerOf(wish: Wish): { readonly tenantId: number; readonly runnerId: string };
  /** One answer for each wish. */
  supply(tx: Queryable, wishes: readonly Wish[]): Promise<Answer[]>;
  actionsOf(answer: Answer): readonly ClaimedAction[];
  /** There was nothing: whether asking again at once is worthwhile, which happens once. */
  mayBeMore?(wish: Wish, answer: Answer): Promise<boolean>;
  giveBack(actions: readonly ClaimedAction[]): Promise<void>;
}

export type SuppliedClaim<Wish, Answer> = (wish: Wish, wait?: Wait) => Promise<Answer>;

export function createSuppliedClaims(
  calls: Calls,
  claiming: ReturnType<typeof createClaiming>,
  onError: (error: unknown) => void,
) {
  return <Wish, Answer>(by: Supplier<Wish, Answer>): SuppliedClaim<Wish, Answer> => {
    const serve = calls.gathered<Wish, Answer>(
      {
        name: by.name,
        key(wish) {
          const { tenantId, runnerId } = by.runnerOf(wish);
          return `${tenantId}:${runnerId}`;
        },
        tenant: (wish) => by.runnerOf(wish).tenantId,
        isSteps: true,
        run: async (tx, wishes) => ({ answers: await by.supply(tx, wishes), transitions: [], wakes: [] }),
      },
      (_, answer) => void by.giveBack(by.actionsOf(answer)).catch(onError),
    );
    async function look(wish: Wish): Promise<Answer> {
      const first = await serve(calls.db, wish);
      const isWorthIt = by.actionsOf(first).length === 0 && (await by.mayBeMore?.(wish, first));
      return isWorthIt ? serve(calls.db, wish) : first;
    }
    return (wish, { waitMs, signal } = {}) => {
      const { tenantId, runnerId } = by.runnerOf(wish);
      const on = { tenantId, runnerId, waitMs, signal };
      return claiming.claimSupplied(on, () => look(wish), by.actionsOf, by.giveBack);
    };
  };
}
