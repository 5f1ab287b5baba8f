import type { Engine, Transaction } from '@muster/engine';
import { readBack } from '../../after-commit.ts';
import { type Act, type Audit, by } from '../../audit/audit.ts';
import { change } from '../../changes.ts';
import { operators } from '../../http/access.ts';
import { type Call, defineRoute, type Route } from '../../http/define-route.ts';
import { httpError } from '../../http/errors.ts';
import { actionWithOutcome } from './answers.ts';
import { actionError } from './errors.ts';
import { unknownAction } from './restriction.ts';
import { idParams, reasonBody } from './schemas.ts';
import { wireAction } from './wire.ts';

/** What an operator does to one action of any door. */
interface Answer {
  readonly outcome: string;
  readonly state: string | null;
}

type Ref = { tenantId: number; actionId: string; reason: string | undefined };
type OneCall = Call<{ reason?: string | undefined }, unknown, { id: string }>;

export function changeRoutes({ audit, engine }: { audit: Audit; engine: Engine }): Route[] {
  /** In one transaction with its line in the audit log; a refusal leaves neither. */
  async function perform(
    act: Act,
    { body, caller, params }: OneCall,
    operation: (tx: Transaction, ref: Ref) => Promise<Answer>,
    refusal: (answer: Answer) => Error | null,
  ) {
    const { tenantId } = caller;
    const { outcome } = await change(engine.db, async (tx) => {
      const answer = await operation(tx, { tenantId, actionId: params.id, reason: body.reason });
      if (answer.outcome === 'unknown') throw unknownAction();
      const refused = refusal(answer);
      if (refused) throw refused;
      await audit.write(tx, {
        ...by(caller),
        act,
        target: `action ${params.id}`,
        detail: { reason: body.reason },
      });
      return answer;
    });
    const action = await readBack(`action ${params.id}`, () => engine.get(engine.db, tenantId, params.id));
    if (!action) throw unknownAction();
    return { ...wireAction(action), outcome };
  }

  const one = (verb: string, summary: string, handler: (call: OneCall) => Promise<unknown>) =>
    defineRoute({
      method: 'POST',
      path: `/api/actions/:id/${verb}`,
      access: operators('operator'),
      summary,
      params: idParams,
      body: reasonBody,
      responses: { 200: { description: 'The action as it is now.', schema: actionWithOutcome } },
      handler,
    });

  return [
    one('cancel', 'Cancel an action; a running one is told to its worker', (call) =>
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
    one('redrive', 'Queue a dead letter again, at the end of its class', (call) =>
      perform(
        'action.redrive',
        call,
        (tx, ref) => engine.redrive(tx, ref),
        ({ outcome, state }) =>
          outcome === 'refused'
            ? actionError('MUSTER_NOT_FAILED', `Only failed actions are redriven, and this one is ${state}.`)
            : null,
      ),
    ),
    one('move-to-front', 'Put an action before all others of its class in its lane', (call) =>
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
