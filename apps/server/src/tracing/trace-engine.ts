import type { ClaimedAction, Engine } from '@muster/engine';

/** An id that was only named may be any text, or that of an action of another door or tenant. */
const reported = ({ actionId }: { actionId: string }, answer: { accepted: boolean } | undefined) =>
  answer?.accepted ? [actionId] : [];

/**
 * The engine, but it says which actions a call queued, handed out or reported. What a call does for others too (a
 * gathered statement, a choice for many runners) says nothing here.
 */
export function traceEngine(engine: Engine, note: (actionIds: readonly string[]) => void): Engine {
  const idsOf = (actions: readonly (ClaimedAction | null)[]) =>
    actions.flatMap((one) => (one ? [one.id] : []));
  const traced: Partial<Engine> = {
    async enqueue(...args) {
      const queued = await engine.enqueue(...args);
      note([queued.id]);
      return queued;
    },
    async enqueueMany(...args) {
      const queued = await engine.enqueueMany(...args);
      note(queued.flatMap((one) => (one instanceof Error ? [] : [one.id])));
      return queued;
    },
    async claim(...args) {
      const action = await engine.claim(...args);
      note(idsOf([action]));
      return action;
    },
    async claimSlots(...args) {
      const actions = await engine.claimSlots(...args);
      note(idsOf(actions));
      return actions;
    },
    async claimFromPool(...args) {
      const claim = await engine.claimFromPool(...args);
      if (claim.kind === 'claimed') note([claim.action.id]);
      return claim;
    },
    supplied(by) {
      const claim = engine.supplied(by);
      return async (...args) => {
        const answer = await claim(...args);
        note(idsOf(by.actionsOf(answer)));
        return answer;
      };
    },
    async report(...args) {
      const answer = await engine.report(...args);
      note([...reported(args[1], answer), ...idsOf([answer.next])]);
      return answer;
    },
    async reportMany(...args) {
      const answers = await engine.reportMany(...args);
      note(args[1].flatMap((request, n) => reported(request, answers[n])));
      return answers;
    },
    async release(...args) {
      const answer = await engine.release(...args);
      note(reported(args[1], answer));
      return answer;
    },
  };
  return Object.create(engine, Object.getOwnPropertyDescriptors(traced)) as Engine;
}
