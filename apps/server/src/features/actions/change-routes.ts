import { api, type Redrive } from '@muster/contracts';
import type { ActionView, Engine, Transaction } from '@muster/engine';
import type { Act, Audit } from '../../audit/audit.ts';
import { operators } from '../../http/access.ts';
import { type CallOf, defineRoute, type Route } from '../../http/define-route.ts';
import { httpError } from '../../http/errors.ts';
import { isId } from '../../http/ids.ts';
import { readBack } from '../../http/read-back.ts';
import type { Moving } from '../../moving/moving.ts';
import type { Redriving } from '../../redriving/redriving.ts';
import { actionError } from './errors.ts';
import { unknownAction } from './restriction.ts';
import { wireAction } from './wire.ts';

/** The result of an operator's change of one action, of any door. */
interface Answer {
  readonly outcome: string;
  readonly state: string | null;
}

type Ref = { tenantId: number; actionId: string; reason: string | undefined };
type Change = (tx: Transaction, ref: Ref) => Promise<Answer>;
type OneEndpoint =
  | typeof api.actions.cancel
  | typeof api.actions.redrive
  | typeof api.actions.makeDue
  | typeof api.actions.moveToFront;
type OneCall = CallOf<OneEndpoint>;

const isNotWaiting = (state: string | null) =>
  state === 'claimed'
    ? actionError('MUSTER_ALREADY_RUNNING', 'This action is already running.')
    : httpError('MUSTER_FINISHED', `This action has already ${state}.`);

/** Asks the door first, in the same transaction, where it may refuse. */
const unlessRefused =
  (refusalOf: (tx: Transaction, ref: Ref) => Promise<Error | null | undefined>, change: Change): Change =>
  async (tx, ref) => {
    const refused = await refusalOf(tx, ref);
    if (refused) throw refused;
    return change(tx, ref);
  };

export function changeRoutes(tools: {
  audit: Audit;
  engine: Engine;
  moving: Moving;
  redriving: Redriving;
}): Route[] {
  const { audit, engine, moving, redriving } = tools;

  /** In one transaction with its audit line; a refusal leaves neither. */
  async function perform(
    act: Act,
    { body, caller, params }: OneCall,
    operation: Change,
    refusal: (answer: Answer) => Error | null,
  ) {
    const { tenantId } = caller;
    const { outcome } = await audit.change(
      caller,
      async (tx) => {
        const answer = await operation(tx, { tenantId, actionId: params.id, reason: body.reason });
        if (answer.outcome === 'unknown') throw unknownAction();
        const refused = refusal(answer);
        if (refused) throw refused;
        return answer;
      },
      { act, target: `action ${params.id}`, detail: body },
    );
    const action = await readBack(`action ${params.id}`, () => engine.get(engine.db, tenantId, params.id));
    if (!action) throw unknownAction();
    return Object.assign(wireAction(action, action), { outcome });
  }

  const looking =
    (refusalOf: (action: ActionView) => Error | null) =>
    async (tx: Transaction, { tenantId, actionId }: Ref) => {
      const action = await engine.get(tx, tenantId, actionId);
      return action && refusalOf(action);
    };

  const one = (endpoint: OneEndpoint, handler: (call: OneCall) => Promise<unknown>) =>
    defineRoute(endpoint, { access: operators('operator'), handler });

  return [
    one(api.actions.cancel, (call) =>
      perform(
        'action.cancel',
        call,
        (tx, ref) => engine.cancel(tx, ref),
        ({ outcome, state }) =>
          outcome === 'finished' && state !== 'cancelled'
            ? httpError('MUSTER_FINISHED', `This action has already ${state}.`)
            : null,
      ),
    ),
    one(api.actions.redrive, (call) =>
      perform(
        'action.redrive',
        call,
        unlessRefused(async (tx, { tenantId, actionId }) => {
          const wish = { caller: call.caller, clearError: (call.body as Redrive).clearError };
          const ids = isId(actionId) ? [actionId] : [];
          return (await redriving.refusals(tx, tenantId, ids, wish)).get(actionId);
        }, engine.redrive),
        ({ outcome, state }) =>
          outcome === 'refused'
            ? actionError('MUSTER_NOT_FAILED', `Only failed actions can be redriven; this one is ${state}.`)
            : null,
      ),
    ),
    one(api.actions.moveToFront, (call) =>
      perform(
        'action.move-to-front',
        call,
        unlessRefused(
          looking(({ channel }) => moving.refusalOf(channel)),
          engine.moveToFront,
        ),
        ({ outcome, state }) => (outcome === 'refused' ? isNotWaiting(state) : null),
      ),
    ),
    one(api.actions.makeDue, (call) =>
      perform(
        'action.make-due',
        call,
        unlessRefused(looking(moving.timeRefusalOf), engine.makeDue),
        ({ outcome, state }) => {
          if (outcome !== 'refused') return null;
          return state === 'pending'
            ? actionError('MUSTER_NOT_DELAYED', 'This action is already due.')
            : isNotWaiting(state);
        },
      ),
    ),
  ];
}
