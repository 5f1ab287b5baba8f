import { api } from '@muster/contracts';
import type { Engine } from '@muster/engine';
import type { ChannelContacts } from '../../contacts/contacts.ts';
import { defineRoute, type Route } from '../../http/define-route.ts';
import { ANSWER_HEADERS, agentOf, agents } from './agent-access.ts';
import type { HandingOut } from './handing-out.ts';
import type { Heartbeats } from './heartbeats.ts';
import { readPoll } from './poll-parameters.ts';
import { NEXT_POLL, type Pressure } from './pressure.ts';
import type { Reports } from './reports.ts';

/** What agents do. Every answer, refusals included, carries the same three headers. */
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

  return [
    defineRoute(api.control.poll, {
      ...forAgents,
      async handler({ caller, query, request, reply }) {
        const poll = readPoll(query);
        const agent = agentOf(caller);
        contacts.heardOf(agent.tenantId, agent.hostId);
        const actions = await handingOut.claim({ agent, request, reply }, poll).catch(pressure.refuse);
        reply.header(NEXT_POLL, pressure.advice());
        return actions.length > 0 ? { actions } : reply.code(204).send();
      },
    }),

    defineRoute(api.control.running, {
      ...forAgents,
      async handler({ caller }) {
        const { tenantId, hostId, runnerId } = agentOf(caller);
        contacts.heardOf(tenantId, hostId);
        const held = await engine.held(engine.db, { tenantId, runnerId });
        return { actions: await handingOut.describe(tenantId, held) };
      },
    }),

    defineRoute(api.control.report, {
      ...forAgents,
      async handler({ body, caller, request, reply }) {
        const next = body.next && readPoll(body.next);
        const agent = agentOf(caller);
        contacts.heardOf(agent.tenantId, agent.hostId);
        const told = await reports.report(agent, body);
        if (!next) return told;
        reply.header(NEXT_POLL, pressure.advice());
        // After a report that did not count nothing is claimed: it might be the very action of the report.
        if (!told.accepted) return { ...told, actions: [] };
        return { ...told, actions: await handingOut.claim({ agent, request, reply }, next, true) };
      },
    }),

    defineRoute(api.control.heartbeat, {
      ...forAgents,
      async handler({ body, caller }) {
        const agent = agentOf(caller);
        contacts.heardOf(agent.tenantId, agent.hostId);
        return { actions: await heartbeats.extend(agent, body.actions) };
      },
    }),
  ];
}
