import type { Engine } from '@muster/engine';
import type { ChannelContacts } from '../../contacts/contacts.ts';
import { defineRoute, type Route } from '../../http/define-route.ts';
import { ANSWER_HEADERS, agentOf, agents } from './agent-access.ts';
import { heartbeatAnswer, lockedActions, reportAnswer } from './answers.ts';
import type { HandingOut } from './handing-out.ts';
import type { Heartbeats } from './heartbeats.ts';
import { readPoll } from './poll-parameters.ts';
import { NEXT_POLL, type Pressure } from './pressure.ts';
import type { Reports } from './reports.ts';
import { heartbeatBody, pollQuery, reportBody } from './schemas.ts';

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
    defineRoute({
      ...forAgents,
      method: 'GET',
      path: '/api/control/queue',
      summary: 'Lock the next actions of the host, or wait for some',
      query: pollQuery,
      responses: {
        200: { description: 'Locked for this host, oldest first.', schema: lockedActions },
        204: { description: 'There is nothing to do, also after the wait.' },
      },
      async handler({ caller, query, request, reply }) {
        const poll = readPoll(query);
        const agent = agentOf(caller);
        contacts.heardOf(agent.tenantId, agent.hostId);
        const actions = await handingOut.claim({ agent, request, reply }, poll).catch(pressure.refuse);
        reply.header(NEXT_POLL, pressure.advice());
        return actions.length > 0 ? { actions } : reply.code(204).send();
      },
    }),

    defineRoute({
      ...forAgents,
      method: 'GET',
      path: '/api/control/running',
      summary: 'What the host holds: to be asked at start and after a request without an answer',
      responses: { 200: { description: 'Locked before and not reported yet.', schema: lockedActions } },
      async handler({ caller }) {
        const { tenantId, hostId, runnerId } = agentOf(caller);
        contacts.heardOf(tenantId, hostId);
        const held = await engine.held(engine.db, { tenantId, runnerId });
        return { actions: await handingOut.describe(tenantId, held) };
      },
    }),

    defineRoute({
      ...forAgents,
      method: 'POST',
      path: '/api/control/report',
      summary: 'Say how an action went, and perhaps take the next ones with it',
      body: reportBody,
      responses: {
        200: {
          description: 'Whether the report counted; late ones are recorded and change nothing.',
          schema: reportAnswer,
        },
      },
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

    defineRoute({
      ...forAgents,
      method: 'POST',
      path: '/api/control/heartbeat',
      summary: 'Keep the actions that are still running, and hear which of them were cancelled',
      body: heartbeatBody,
      responses: {
        200: { description: 'One entry for each action that was named.', schema: heartbeatAnswer },
      },
      async handler({ body, caller }) {
        const agent = agentOf(caller);
        contacts.heardOf(agent.tenantId, agent.hostId);
        return { actions: await heartbeats.extend(agent, body.actions) };
      },
    }),
  ];
}
