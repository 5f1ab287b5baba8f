import { setTimeout as pause } from 'node:timers/promises';
import { type Finding, finding } from '../../torture/finding.ts';
import type { Playing } from './part.ts';

/** Agents that wait for work at whatever node they reach, and an operator who queues it at any other. */
const HOSTS = 3;
const SLOTS = 3;

interface Agent {
  readonly hostId: string;
  readonly serviceId: string;
  readonly token: string;
  readonly queued: string[];
  readonly ran: Set<string>;
  isDone: boolean;
}

interface Handed {
  readonly id: string;
  readonly attempt: number;
}

export async function playHosts(playing: Playing): Promise<Finding[]> {
  const agents: Agent[] = [];
  for (let n = 0; n < HOSTS; n += 1) agents.push(await newAgent(playing, n));
  const serving = agents.map((agent) => serve(playing, agent));
  await Promise.all(agents.map((agent) => queue(playing, agent)));
  await Promise.all(serving);
  const { caller, token } = playing;
  const found: Finding[] = [];
  for (const { hostId, queued } of agents)
    for (const id of queued) {
      const { body } = await caller.surely('GET', `/api/hosts/${hostId}/actions/${id}`, { token });
      if (body.status !== 'succeeded')
        found.push(finding('G54', id, `action ${id} of host ${hostId} is ${body.status}, not succeeded`));
    }
  return found;
}

async function newAgent({ caller, random, token }: Playing, n: number): Promise<Agent> {
  // a lost answer may have made it: then another one has this number
  for (;;) {
    const name = `host ${n} ${random.next()}`;
    const host = await caller.once('POST', '/api/hosts', { token, body: { name, slots: SLOTS } });
    if (host?.status !== 201) continue;
    const { agentToken, id } = host.body;
    for (;;) {
      const body = { unitName: `unit-${random.int(0, 1e9)}.service` };
      const service = await caller.once('POST', `/api/hosts/${id}/services`, { token, body });
      if (service?.status !== 201) continue;
      const [queued, ran] = [[], new Set<string>()];
      return { hostId: id, serviceId: service.body.id, token: agentToken, queued, ran, isDone: false };
    }
  }
}

async function queue({ caller, isOver, random, token }: Playing, agent: Agent): Promise<void> {
  for (let n = 0; !isOver(); n += 1) {
    const { status, body } = await caller.surely('POST', `/api/hosts/${agent.hostId}/actions`, {
      token,
      body: { serviceId: agent.serviceId, kind: 'restart' },
      key: `host ${agent.hostId} ${n}`,
    });
    if (status >= 300) throw new Error(`An action of a host was refused: ${JSON.stringify(body)}`);
    agent.queued.push(body.id);
    await pause(random.int(50, 400));
  }
  agent.isDone = true;
}

async function serve({ caller, random }: Playing, agent: Agent): Promise<void> {
  const headers = { 'muster-instance': `agent-of-host-${agent.hostId}` };
  const asked = { token: agent.token, headers };
  while (!agent.isDone || agent.queued.some((id) => !agent.ran.has(id))) {
    // what an answer that was lost had handed out is not handed out again before its lease ends
    const polled = await caller.once('GET', `/api/control/queue?max=3&wait=${random.int(1, 10)}`, asked);
    const { body } = polled ?? (await caller.surely('GET', '/api/control/running', asked));
    for (const { attempt, id } of (body?.actions ?? []) as Handed[]) {
      const report = { actionId: id, attempt, status: 'succeeded' };
      await caller.surely('POST', '/api/control/report', { ...asked, body: report });
      agent.ran.add(id);
    }
  }
}
