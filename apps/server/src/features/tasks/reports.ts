import type { Engine } from '@muster/engine';
import { checkReportSize } from '../../http/report-size.ts';
import { unknownTaskDevice } from './errors.ts';
import type { HandedToPcs } from './handed.ts';
import type { Metrics } from './metrics.ts';
import type { Runner } from './runner-access.ts';
import { CHANNEL, statusOf } from './wire.ts';

/**
 * Reports of a runner about an attempt. Fenced: only the named attempt is affected, each ends once, a late report is
 * recorded and changes nothing, and what another PC holds cannot be touched.
 */
export type Reports = ReturnType<typeof createReports>;

const LATE_AS = { succeeded: 'SUCCEEDED', failed: 'FAILED', timedOut: 'TIMEOUT' } as const;

export function createReports(tools: {
  engine: Engine;
  handed: HandedToPcs;
  metrics: Metrics;
  /** After an attempt has ended. */
  ended(runner: Runner): Promise<void>;
}) {
  const { ended, engine, handed, metrics } = tools;
  const { db } = engine;

  /** The action of a task, else throws. */
  async function known(runner: Runner, id: string) {
    const action = await engine.get(db, runner.tenantId, id);
    if (action?.channel !== CHANNEL) throw unknownTaskDevice();
    return action;
  }

  /** Throws if this PC never got the action; false: the attempt is another PC's. */
  async function isOwn(runner: Runner, id: string, attempt: number): Promise<boolean> {
    const whose = await handed.whose(runner.tenantId, runner.pcId, id, attempt);
    if (whose === 'unknown') throw unknownTaskDevice();
    return whose === 'own';
  }

  /** Recorded once for each attempt and kind of report; nothing else changes. */
  async function refused(runner: Runner, id: string, attempt: number, what: string) {
    const { tenantId } = runner;
    const { state } = await known(runner, id);
    await engine.recordLate(db, { tenantId, actionId: id, attempt, worker: runner.worker, what });
    return { accepted: false, status: statusOf(state), reason: 'LATE' };
  }

  return {
    async report(
      runner: Runner,
      id: string,
      said: {
        attempt: number;
        status: 'succeeded' | 'failed' | 'timedOut';
        error?: string | undefined;
        result?: unknown;
      },
    ) {
      const { tenantId } = runner;
      checkReportSize(said);
      if (!(await isOwn(runner, id, said.attempt)))
        return refused(runner, id, said.attempt, LATE_AS[said.status]);
      const answer = await engine.report(db, {
        tenantId,
        actionId: id,
        ...said,
        worker: runner.worker,
        channel: CHANNEL,
      });
      if (answer.state === null) throw unknownTaskDevice();
      const handedOut = handed.get(tenantId, id);
      if (answer.accepted && !answer.repeated && handedOut?.attempt === said.attempt)
        metrics.reported(tenantId, said.status, handedOut.at, engine.now().getTime());
      if (answer.accepted) handed.forget(tenantId, id);
      if (answer.accepted) await ended(runner);
      return {
        accepted: answer.accepted,
        status: statusOf(answer.state),
        reason: answer.reason ?? undefined,
      };
    },

    async acknowledge(runner: Runner, id: string, attempt: number) {
      const { tenantId } = runner;
      const acknowledged =
        (await isOwn(runner, id, attempt)) &&
        (await engine.acknowledge(db, { tenantId, actionId: id, attempt }));
      if (!acknowledged) return refused(runner, id, attempt, 'ACK');
      return { accepted: true, status: 'running' as const };
    },

    /** Reads only: the time of an attempt is fixed when it is handed out. */
    async heartbeat(runner: Runner, id: string, attempt: number) {
      const own = await isOwn(runner, id, attempt);
      const action = await known(runner, id);
      if (!own || action.state !== 'claimed' || action.attempt !== attempt)
        return refused(runner, id, attempt, 'HEARTBEAT');
      return {
        accepted: true,
        status: 'running' as const,
        timeoutAt: action.leaseUntil ?? undefined,
        cancelRequested: action.cancelRequested || undefined,
      };
    },
  };
}
