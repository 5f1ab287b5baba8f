import { api } from '@muster/contracts';
import type { Engine } from '@muster/engine';
import type { ChannelContacts } from '../../contacts/contacts.ts';
import { only, operators } from '../../http/access.ts';
import { defineRoute, type Route } from '../../http/define-route.ts';
import { heldElsewhere, tellHeldElsewhere } from '../../http/instance.ts';
import type { Claiming, ToRunner } from './claiming.ts';
import type { Pcs } from './pcs.ts';
import type { Reports } from './reports.ts';
import { type Runner, runnerOf } from './runner-access.ts';
import type { Watching } from './watching.ts';
import { CHANNEL } from './wire.ts';

/** What runners do. */
export function runnerRoutes(tools: {
  claiming: Claiming;
  contacts: ChannelContacts;
  engine: Engine;
  pcs: Pcs;
  reports: Reports;
  watching: Watching;
}): Route[] {
  const { claiming, contacts, engine, pcs, reports, watching } = tools;

  function heard(runner: Runner): Runner {
    contacts.heardOf(runner.tenantId, runner.pcId, runner.instance);
    return runner;
  }

  /** Nothing is claimed after a report that did not count: the claim might return the very device of the report. */
  async function andClaim<Told extends { accepted: boolean }>(
    to: ToRunner,
    told: Told,
    claim: { max?: number | undefined } | undefined,
  ) {
    if (!claim) return told;
    const taskDevices = told.accepted ? await claiming.claim(to, { max: claim.max }) : [];
    return Object.assign(told, { taskDevices });
  }

  return [
    defineRoute(api.runners.claim, {
      access: only('runner'),
      async handler({ body, caller, params, request, reply }) {
        const runner = heard(runnerOf(caller, request, params.id));
        const taskDevices = await claiming.claim({ runner, request, reply }, body);
        // a runner that shares its token and gets nothing may be waiting for what another one holds
        if (taskDevices.length === 0 && contacts.isShared(runner.tenantId, runner.pcId))
          tellHeldElsewhere(reply, heldElsewhere(await engine.held(engine.db, runner), runner.worker));
        return { taskDevices };
      },
    }),

    defineRoute(api.runners.running, {
      access: operators('viewer', 'runner'),
      async handler({ caller, params, request }) {
        const runner = caller.kind === 'runner' ? heard(runnerOf(caller, request, params.id)) : null;
        const pc = runner ?? (await pcs.get(caller, params.id));
        const held = (await engine.held(engine.db, pc)).filter((action) => action.channel === CHANNEL);
        // what another runner with the same token holds is not its own; operators see all
        const others = runner ? heldElsewhere(held, runner.worker) : [];
        const own = held.filter(({ id }) => !others.some((other) => other.id === id));
        return {
          taskDevices: await claiming.describe(pc, own),
          heldElsewhere: others.length > 0 ? others : undefined,
        };
      },
    }),

    defineRoute(api.runners.watch, {
      access: only('runner'),
      async handler({ body, caller, params, request }) {
        const runner = heard(runnerOf(caller, request, params.id));
        return { taskDevices: await watching(runner, body.taskDevices, body.wait ?? 0, request) };
      },
    }),

    defineRoute(api.runners.complete, {
      access: only('runner'),
      async handler({ body, caller, params, request, reply }) {
        const runner = heard(runnerOf(caller, request));
        const { attempt, result } = body;
        const told = await reports.report(runner, params.id, { attempt, status: 'succeeded', result });
        return andClaim({ runner, request, reply }, told, body.claim);
      },
    }),

    defineRoute(api.runners.fail, {
      access: only('runner'),
      async handler({ body, caller, params, request, reply }) {
        const runner = heard(runnerOf(caller, request));
        const { attempt, error, timedOut } = body;
        const status = timedOut ? 'timedOut' : 'failed';
        const told = await reports.report(runner, params.id, { attempt, status, error });
        return andClaim({ runner, request, reply }, told, body.claim);
      },
    }),

    defineRoute(api.runners.acknowledge, {
      access: only('runner'),
      handler: ({ body, caller, params, request }) =>
        reports.acknowledge(heard(runnerOf(caller, request)), params.id, body.attempt),
    }),

    defineRoute(api.runners.heartbeat, {
      access: only('runner'),
      handler: ({ body, caller, params, request }) =>
        reports.heartbeat(heard(runnerOf(caller, request)), params.id, body.attempt),
    }),
  ];
}
