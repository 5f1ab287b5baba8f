import { api } from '@muster/contracts';
import type { Engine } from '@muster/engine';
import type { ChannelContacts } from '../../contacts/contacts.ts';
import { only, operators } from '../../http/access.ts';
import { defineRoute, type Route } from '../../http/define-route.ts';
import type { Claiming, ToRunner } from './claiming.ts';
import type { Pcs } from './pcs.ts';
import type { Reports } from './reports.ts';
import { type Runner, runnerOf } from './runner-access.ts';
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
    defineRoute(api.runners.claim, {
      access: only('runner'),
      async handler({ body, caller, params, request, reply }) {
        const runner = heard(runnerOf(caller, params.id));
        return { taskDevices: await claiming.claim({ runner, request, reply }, body) };
      },
    }),

    defineRoute(api.runners.running, {
      access: operators('viewer', 'runner'),
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

    defineRoute(api.runners.complete, {
      access: only('runner'),
      async handler({ body, caller, params, request, reply }) {
        const runner = heard(runnerOf(caller));
        const { attempt, result } = body;
        const told = await reports.report(runner, params.id, { attempt, status: 'succeeded', result });
        return andClaim({ runner, request, reply }, told, body.claim);
      },
    }),

    defineRoute(api.runners.fail, {
      access: only('runner'),
      async handler({ body, caller, params, request, reply }) {
        const runner = heard(runnerOf(caller));
        const { attempt, error, timedOut } = body;
        const status = timedOut ? 'timedOut' : 'failed';
        const told = await reports.report(runner, params.id, { attempt, status, error });
        return andClaim({ runner, request, reply }, told, body.claim);
      },
    }),

    defineRoute(api.runners.acknowledge, {
      access: only('runner'),
      handler: ({ body, caller, params }) =>
        reports.acknowledge(heard(runnerOf(caller)), params.id, body.attempt),
    }),

    defineRoute(api.runners.heartbeat, {
      access: only('runner'),
      handler: ({ body, caller, params }) =>
        reports.heartbeat(heard(runnerOf(caller)), params.id, body.attempt),
    }),
  ];
}
