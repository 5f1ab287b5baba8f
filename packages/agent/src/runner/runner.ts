import path from 'node:path';
import { createWorkLoop, type LoopSettings, type WorkLoop } from '../work-loop.ts';
import { RunnerClient } from './client.ts';
import { execScript, type ScriptOptions } from './exec-script.ts';
import { reduceReport } from './result.ts';
import type { TaskDevice } from './wire.ts';

/**
 * The runner of a PC: keeps its slots full, with one process per device. The server decides how many slots there are:
 * it hands out no more than are free, and a claim that waits is answered when one is freed.
 */
export interface RunnerOptions extends Omit<LoopSettings, 'maxRunning'>, ScriptOptions {
  readonly server: string;
  /** Read before every request, so a rotated token needs no restart. */
  readonly token: () => Promise<string>;
  readonly pcId: string;
  /** The most devices at once, whatever the server would give; 1000 by default. */
  readonly maxRunning?: number;
  /** How often it asks whether running attempts are still wanted; every 15 seconds by default. */
  readonly heartbeatMs?: number;
  /** A sentence, if the script cannot be run at the moment: then it claims nothing. */
  readonly obstacle?: () => Promise<string | null>;
}

export type Runner = WorkLoop;

const MOST_PER_CLAIM = 100;
const DELIVERIES_AT_ONCE = 10;

export function createRunner(options: RunnerOptions): Runner {
  const { heartbeatMs = 15_000, maxRunning = 1_000, obstacle } = options;
  const folder = path.resolve(options.folder);
  const client = new RunnerClient(options.server, options.token, options.pcId, options.tracing);
  const stopped = new AbortController();
  const loop = createWorkLoop<TaskDevice>(
    { ...options, folder, maxRunning },
    {
      server: client,
      execute: execScript(options),
      mostPerAnswer: MOST_PER_CLAIM,
      deliveriesAtOnce: DELIVERIES_AT_ONCE,
      program: 'runner',
      // of another PC, of none, or no such PC
      refusals: [401, 403, 404],
      noun: 'Task-device',
      laneOf: ({ deviceId }) => deviceId,
      nameOf: ({ id, attempt, deviceId, kind }) =>
        `Task-device ${id}, attempt ${attempt}: ${kind} on device ${deviceId}`,
      reduce: reduceReport,
      interruptedMessage:
        'INTERRUPTED: the runner stopped while it ran. How far it got is unknown; this attempt is not run again.',
      stoppedMessage: 'INTERRUPTED: the runner was stopped, and its script with it.',
      alive: (attempts) => attempts.unfinished,
      beatMs: () => heartbeatMs,
      marksOf: ({ id, attempt }) => ({
        MUSTER_RUNNER_STATE: folder,
        MUSTER_TASK_DEVICE_ID: id,
        MUSTER_ATTEMPT: String(attempt),
      }),
      killAfterMs: options.killAfterMs,
      onStarted: (work) => void client.acknowledge(work, stopped.signal).catch(() => {}),
      ...(obstacle ? { obstacle } : {}),
    },
  );
  return { run: () => loop.run().finally(() => stopped.abort()), stop: loop.stop };
}
