import type { Engine } from '@muster/engine';
import type { ChannelContacts } from '../../contacts/contacts.ts';
import { only, operators } from '../../http/access.ts';
import { defineRoute, type Route } from '../../http/define-route.ts';
import { acknowledged, claimed, heartbeat, reported } from './answers.ts';
import type { Claiming, ToRunner } from './claiming.ts';
import type { Pcs } from './pcs.ts';
import type { Reports } from './reports.ts';
import { type Runner, runnerOf } from './runner-access.ts';
import { attemptBody, claimBody, completeBody, failBody, idParams } from './schemas.ts';
import { CHANNEL } from './wire.ts';

/** What runners do. */
export function runnerRoutes(tools: {
  claiming: Claiming;
  contacts: ChannelContacts;
  engine: Engine;
  pcs: Pcs;
  reports: Reports;
}): Route[] {
  const { claiming, contacts, engine, pcs, reports } = tools;

  function heard(runner: Runner): Runner {
    contacts.heardOf(runner.tenantId, runner.pcId);
    return runner;
  }

  /** After a report that did not count nothing is claimed: it might be the very device of the report. */
  async function andClaim<Told extends { accepted: boolean }>(
    to: ToRunner,
    told: Told,
    claim: { max?: number | undefined } | undefined,
  ) {
    if (!claim) return told;
    return { ...told, taskDevices: told.accepted ? await claiming.claim(to, { max: claim.max }) : [] };
  }

  return [
    defineRoute({
      method: 'POST',
      path: '/api/pcs/:id/claim',
      access: only('runner'),
      summary: 'Take work for the free slots of the PC, or wait for some',
      params: idParams,
      body: claimBody,
      responses: {
        200: {
          description: 'Handed out just now; asking for more than is free is no error.',
          schema: claimed,
        },
      },
      async handler({ body, caller, params, request, reply }) {
        const runner = heard(runnerOf(caller, params.id));
        return { taskDevices: await claiming.claim({ runner, request, reply }, body) };
      },
    }),

    defineRoute({
      method: 'GET',
      path: '/api/pcs/:id/running',
      access: operators('viewer', 'runner'),
      summary: 'What the runner of the PC holds: to be asked at start and after a request without an answer',
      params: idParams,
      responses: { 200: { description: 'Handed out before and not reported yet.', schema: claimed } },
      async handler({ caller, params }) {
        const runner =
          caller.kind === 'runner' ? heard(runnerOf(caller, params.id)) : await pcs.get(caller, params.id);
        const held = await engine.held(engine.db, runner);
        return {
          taskDevices: await claiming.describe(
            runner,
            held.filter((action) => action.channel === CHANNEL),
          ),
        };
      },
    }),

    defineRoute({
      method: 'POST',
      path: '/api/task-devices/:id/complete',
      access: only('runner'),
      summary: 'The device is done; perhaps take the next work with it',
      params: idParams,
      body: completeBody,
      responses: { 200: { description: 'Whether it counted.', schema: reported } },
      async handler({ body, caller, params, request, reply }) {
        const runner = heard(runnerOf(caller));
        const { attempt, result } = body;
        const told = await reports.report(runner, params.id, { attempt, status: 'succeeded', result });
        return andClaim({ runner, request, reply }, told, body.claim);
      },
    }),

    defineRoute({
      method: 'POST',
      path: '/api/task-devices/:id/fail',
      access: only('runner'),
      summary: 'The attempt failed; perhaps take the next work with it',
      params: idParams,
      body: failBody,
      responses: {
        200: {
          description: 'pending: it is tried again. failed: the tries are used up, the device is in error.',
          schema: reported,
        },
      },
      async handler({ body, caller, params, request, reply }) {
        const runner = heard(runnerOf(caller));
        const { attempt, error } = body;
        const told = await reports.report(runner, params.id, { attempt, status: 'failed', error });
        return andClaim({ runner, request, reply }, told, body.claim);
      },
    }),

    defineRoute({
      method: 'POST',
      path: '/api/task-devices/:id/ack',
      access: only('runner'),
      summary: 'The attempt has been received and begun',
      params: idParams,
      body: attemptBody,
      responses: { 200: { description: 'Whether it is the running one.', schema: acknowledged } },
      handler: ({ body, caller, params }) =>
        reports.acknowledge(heard(runnerOf(caller)), params.id, body.attempt),
    }),

    defineRoute({
      method: 'POST',
      path: '/api/task-devices/:id/heartbeat',
      access: only('runner'),
      summary: 'Hear whether the attempt is still wanted; its time stays as it is',
      params: idParams,
      body: attemptBody,
      responses: {
        200: { description: 'Whether it is the running one, and whether to stop.', schema: heartbeat },
      },
      handler: ({ body, caller, params }) =>
        reports.heartbeat(heard(runnerOf(caller)), params.id, body.attempt),
    }),
  ];
}
