import path from 'node:path';
import { Client } from './client.ts';
import type { Executor } from './executor.ts';
import type { AgentAction } from './wire.ts';
import { createWorkLoop, type LoopSettings, type WorkLoop } from './work-loop.ts';

/** The agent of a host, with any executor. */
export interface AgentOptions extends Omit<LoopSettings, 'maxRunning'> {
  readonly server: string;
  /** Read before every request, so a rotated token needs no restart. */
  readonly token: () => Promise<string>;
  readonly execute: Executor;
  /** How many actions run at once; 10 by default. */
  readonly maxRunning?: number;
}

export type Agent = WorkLoop;

/** How long a request may wait at the server. */
const LONGEST_BEAT_MS = 25_000;
const SHORTEST_BEAT_MS = 300;

export function createAgent(options: AgentOptions): Agent {
  const { server, token, execute, maxRunning = 10 } = options;
  const folder = path.resolve(options.folder);
  return createWorkLoop<AgentAction>(
    { ...options, folder, maxRunning },
    {
      server: new Client(server, token, options.tracing),
      execute,
      mostPerAnswer: 10,
      deliveriesAtOnce: 1,
      program: 'agent',
      refusals: [401, 403],
      noun: 'Action',
      laneOf: ({ serviceId }) => serviceId,
      nameOf: ({ id, attempt, kind, service }) =>
        `Action ${id}, attempt ${attempt}: ${kind} ${service.unitName}`,
      reduce: (report, status) =>
        status === 413 && report.output && report.output.length > 1_000
          ? { ...report, output: report.output.slice(-1_000) }
          : null,
      interruptedMessage: 'INTERRUPTED: the agent was restarted while it ran. How far it got is unknown.',
      stoppedMessage: 'INTERRUPTED: the agent was stopped.',
      alive: (attempts) => attempts.held,
      beatMs,
      marksOf: ({ id, attempt }) => ({
        MUSTER_AGENT_STATE: folder,
        MUSTER_ACTION_ID: id,
        MUSTER_ATTEMPT: String(attempt),
      }),
    },
  );
}

/** At least three times per lease: a heartbeat keeps what is held. */
function beatMs(held: readonly AgentAction[]): number {
  const third =
    Math.min(...held.map(({ leaseUntil, startedAt }) => Date.parse(leaseUntil) - Date.parse(startedAt))) / 3;
  return Math.max(SHORTEST_BEAT_MS, Math.min(third, LONGEST_BEAT_MS));
}
