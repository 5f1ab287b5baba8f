import { api } from '@muster/contracts';
import type { Engine } from '@muster/engine';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ChannelContacts } from '../../contacts/contacts.ts';
import { defineRoute, type Route } from '../../http/define-route.ts';
import { heldElsewhere, tellHeldElsewhere } from '../../http/instance.ts';
import type { Caller } from '../../tokens/caller.ts';
import { type Agent, ANSWER_HEADERS, agentOf, agents } from './agent-access.ts';
import type { HandingOut } from './handing-out.ts';
import type { Heartbeats } from './heartbeats.ts';
import { readPoll } from './poll-parameters.ts';
import { NEXT_POLL, type Pressure } from './pressure.ts';
import type { Reports } from './reports.ts';

/** `7:1, 9:2`: actions and attempts to be stopped. They end a waiting poll. */
const CANCELLED = 'muster-cancelled';

/** Operations of agents. Every answer, refusals included, has the same three headers. */
export function agentRoutes(tools: {
  contacts: ChannelContacts;
  engine: Engine;
  handingOut: HandingOut;
  heartbeats: Heartbeats;
  pressure: Pressure;
  reports: Reports;
}): Route[] {
  const { contacts, engine, handingOut, heartbeats, pressure, reports } = tools;
  const forAgents = { access: agents, answerHeaders: ANSWER_HEADERS };

  function heard(caller: Caller, request: FastifyRequest): Agent {
    const agent = agentOf(caller, request);
    contacts.heardOf(agent.tenantId, agent.hostId, agent.instance);
    return agent;
  }

  /** An agent that shares its token and gets nothing may be waiting for what another one holds: say which. */
  async function sayWhoHolds(agent: Agent, reply: FastifyReply): Promise<void> {
    if (!contacts.isShared(agent.tenantId, agent.hostId)) return;
    tellHeldElsewhere(reply, heldElsewhere(await engine.held(engine.db, agent), agent.worker));
  }

  return [
    defineRoute(api.control.poll, {
      ...forAgents,
      claims: true,
      async handler({ caller, query, request, reply }) {
        const poll = readPoll(query);
        const agent = heard(caller, request);
        const { actions, cancelled } = await handingOut
          .poll({ agent, request, reply }, poll)
          .catch(pressure.refuse);
        reply.header(NEXT_POLL, pressure.advice());
        if (actions.length > 0) return { actions };
        if (cancelled.length > 0) reply.header(CANCELLED, cancelled.join(', '));
        await sayWhoHolds(agent, reply);
        return reply.code(204).send();
      },
    }),

    defineRoute(api.control.running, {
      ...forAgents,
      async handler({ caller, request }) {
        const agent = heard(caller, request);
        const held = await engine.held(engine.db, agent);
        const own = held.filter((action) => action.worker === agent.worker);
        const others = heldElsewhere(held, agent.worker);
        return {
          actions: await handingOut.describe(agent.tenantId, own),
          heldElsewhere: others.length > 0 ? others : undefined,
        };
      },
    }),

    defineRoute(api.control.report, {
      ...forAgents,
      async handler({ body, caller, request, reply }) {
        const next = body.next && readPoll(body.next);
        const agent = heard(caller, request);
        const told = await reports.report(agent, body);
        if (!next) return told;
        reply.header(NEXT_POLL, pressure.advice());
        // Nothing is claimed after a report that did not count: the claim might return the very action of the report.
        if (!told.accepted) return { ...told, actions: [] };
        return { ...told, actions: await handingOut.claim({ agent, request, reply }, next, true) };
      },
    }),

    defineRoute(api.control.heartbeat, {
      ...forAgents,
      async handler({ body, caller, request }) {
        const agent = heard(caller, request);
        if (!body.wait) return { actions: await heartbeats.extend(agent, body.actions) };
        await heartbeats.wait(agent, body.actions, body.wait, request);
        const beats = await heartbeats.extend(agent, body.actions);
        return { actions: [...beats, ...(await heartbeats.others(agent, body.actions))] };
      },
    }),
  ];
}
