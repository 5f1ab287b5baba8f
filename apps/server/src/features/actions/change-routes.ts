import { api, type Redrive } from '@muster/contracts';
import type { Engine, Transaction } from '@muster/engine';
import type { Act, Audit } from '../../audit/audit.ts';
import { operators } from '../../http/access.ts';
import { type CallOf, defineRoute, type Route } from '../../http/define-route.ts';
import { httpError } from '../../http/errors.ts';
import { isId } from '../../http/ids.ts';
import { readBack } from '../../http/read-back.ts';
import type { Redriving } from '../../redriving/redriving.ts';
import { actionError } from './errors.ts';
import { unknownAction } from './restriction.ts';
import { wireAction } from './wire.ts';

/** What an operator does to one action of any door. */
interface Answer {
  readonly outcome: string;
  readonly state: string | null;
}

type Ref = { tenantId: number; actionId: string; reason: string | undefined };
type OneEndpoint = typeof api.actions.cancel | typeof api.actions.redrive | typeof api.actions.moveToFront;
type OneCall = CallOf<OneEndpoint>;

export function changeRoutes(tools: { audit: Audit; engine: Engine; redriving: Redriving }): Route[] {
  const { audit, engine, redriving } = tools;

  /** In one transaction with its line in the audit log; a refusal leaves neither. */
  async function perform(
    act: Act,
    { body, caller, params }: OneCall,
    operation: (tx: Transaction, ref: Ref) => Promise<Answer>,
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
    return { ...wireAction(action), outcome };
  }

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
            ? httpError('MUSTER_FINISHED', `This action has ${state} already.`)
            : null,
      ),
    ),
    one(api.actions.redrive, (call) =>
      perform(
        'action.redrive',
        call,
        async (tx, ref) => {
          const { tenantId, actionId } = ref;
          const wish = { caller: call.caller, clearError: (call.body as Redrive).clearError };
          const ids = isId(actionId) ? [actionId] : [];
          const refused = (await redriving.refusals(tx, tenantId, ids, wish)).get(actionId);
          if (refused) throw refused;
          return engine.redrive(tx, ref);
        },
        ({ outcome, state }) =>
          outcome === 'refused'
            ? actionError('MUSTER_NOT_FAILED', `Only failed actions are redriven, and this one is ${state}.`)
            : null,
      ),
    ),
    one(api.actions.moveToFront, (call) =>
      perform(
        'action.move-to-front',
        call,
        (tx, ref) => engine.moveToFront(tx, ref),
        ({ outcome, state }) => {
          if (outcome !== 'refused') return null;
          return state === 'claimed'
            ? actionError('MUSTER_ALREADY_RUNNING', 'This action is running already.')
            : httpError('MUSTER_FINISHED', `This action has ${state} already.`);
        },
      ),
    ),
  ];
}
