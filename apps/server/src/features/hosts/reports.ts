import type { Engine } from '@muster/engine';
import type { Agent } from './agent-access.ts';
import { hostError, unknownAction } from './errors.ts';
import type { HandedToHosts } from './handed.ts';
import type { Metrics } from './metrics.ts';
import { CHANNEL, payloadOf, type Result, statusOf } from './wire.ts';

/** Reports of agents: fenced by the attempt, each ends its attempt once, and another host's action is unknown. */
export type Reports = ReturnType<typeof createReports>;

export interface Report {
  readonly actionId: string;
  readonly attempt?: number | undefined;
  readonly status: 'succeeded' | 'failed';
  readonly final?: boolean | undefined;
  readonly exitCode?: number | undefined;
  readonly message?: string | undefined;
  readonly output?: string | undefined;
}

const MOST_OUTPUT = 65_536;

export function createReports(tools: { engine: Engine; handed: HandedToHosts; metrics: Metrics }) {
  const { engine, handed, metrics } = tools;

  /** Agents that send no attempt mean the only one, as long as there is only one. */
  async function attemptOf(tenantId: number, hostId: string, id: string): Promise<number> {
    const action = await engine.get(engine.db, tenantId, id);
    if (action?.channel !== CHANNEL || payloadOf(action).hostId !== hostId) throw unknownAction();
    if (action.attempt !== 1)
      throw hostError(
        'MUSTER_ATTEMPT_MISSING',
        `This action was handed out ${action.attempt} times. Send the attempt that the report is for.`,
      );
    return action.attempt;
  }

  return {
    async report(agent: Agent, report: Report) {
      const { tenantId, hostId, worker } = agent;
      const { actionId, status } = report;
      if (report.attempt !== undefined && !(await handed.isOf(tenantId, hostId, actionId)))
        throw unknownAction();
      const attempt = report.attempt ?? (await attemptOf(tenantId, hostId, actionId));
      const handedOut = handed.get(tenantId, actionId);
      const answer = await engine.report(engine.db, {
        tenantId,
        actionId,
        attempt,
        status,
        final: report.final,
        worker,
        error: status === 'failed' ? errorOf(report) : undefined,
        result: resultOf(report),
        channel: CHANNEL,
      });
      if (answer.laneId === null) throw unknownAction();
      if (answer.accepted && !answer.repeated && handedOut?.attempt === attempt)
        metrics.reported(tenantId, status, handedOut.at, engine.now());
      if (answer.accepted) handed.forget(tenantId, actionId);
      return {
        accepted: answer.accepted,
        status: statusOf(answer.state),
        reason: answer.reason ?? undefined,
      };
    },
  };
}

function errorOf({ message, exitCode }: Report): string {
  if (message !== undefined && message !== '') return message;
  return exitCode === undefined ? 'Failed.' : `Exit code ${exitCode}.`;
}

/** The end of an output says more than its beginning. */
function resultOf({ exitCode, message, output }: Report): Result {
  if (output === undefined || Buffer.byteLength(output) <= MOST_OUTPUT) return { exitCode, message, output };
  const tail = Buffer.from(output).subarray(-MOST_OUTPUT).toString('utf8');
  // the cut may have split a character
  return { exitCode, message, output: tail.replace(/^\ufffd+/, ''), outputCut: true };
}
