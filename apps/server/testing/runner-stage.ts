import { chmodSync, writeFileSync } from 'node:fs';
import { processOf, serverStage, until } from './process-stage.ts';
import { MUSTER } from './programs.ts';

/**
 * A server and a runner as users run them, each in its own process that is killed and started again, and a script that records each
 * call. The payload says what it does: `gate` waits until the test opens the gate of its device, `fails` fails, `short` takes a
 * moment. Two calls at once for one device are recorded too.
 */
const SCRIPT = `#!/bin/sh
trap '' PIPE # its runner may have been killed
trap 'rmdir "$STAGE/busy-$MUSTER_DEVICE_ID"; exit 143' TERM
payload=$(cat)
mkdir "$STAGE/busy-$MUSTER_DEVICE_ID" || echo "$MUSTER_TASK_DEVICE_ID $MUSTER_ATTEMPT" >> "$STAGE/overlaps"
echo "$MUSTER_TASK_DEVICE_ID $MUSTER_ATTEMPT $MUSTER_DEVICE_ID" >> "$STAGE/record"
case "$payload" in
  *gate*) while [ ! -e "$STAGE/open-$MUSTER_DEVICE_ID" ]; do sleep 0.02; done ;;
  *short*) sleep 0.05 ;;
esac
rmdir "$STAGE/busy-$MUSTER_DEVICE_ID"
case "$payload" in
  *fails*) echo "about to fail"; echo "it went wrong" >&2; exit 7 ;;
  *text*) echo "plain words" ;;
  *) echo "{\\"payload\\": $payload, \\"kind\\": \\"$MUSTER_KIND\\", \\"pc\\": \\"$MUSTER_PC_ID\\", \\"task\\": \\"$MUSTER_TASK_ID\\"}" ;;
esac
echo "$MUSTER_TASK_DEVICE_ID $MUSTER_ATTEMPT" >> "$STAGE/finished"
`;

export interface ScriptCall {
  readonly id: string;
  readonly attempt: number;
  readonly deviceId: string;
}

export async function runnerStage(slots: number) {
  const stage = await serverStage({});
  const { at, call, lines, server, url } = stage;
  writeFileSync(at('script'), SCRIPT);
  chmodSync(at('script'), 0o755);
  const pc = await call('POST', '/api/pcs', { name: 'stage', slots });
  writeFileSync(at('token'), pc.runnerToken);
  const args = ['--server', url, '--token-file', at('token'), '--pc', pc.id, '--exec', at('script')];
  const runner = processOf(
    [...MUSTER, 'runner', ...args, '--state-dir', at('state'), '--heartbeat', '1'],
    /The runner of PC \d+ asks/,
    stage.environment,
  );

  let made = 0;

  return {
    url,
    pcId: pc.id as string,
    runnerToken: pc.runnerToken as string,
    server,
    runner,
    call,
    async devices(count: number): Promise<string[]> {
      const ids: string[] = [];
      for (let n = 0; n < count; n += 1) {
        made += 1;
        ids.push((await call('POST', '/api/devices', { name: `device ${made}`, pcId: pc.id })).id);
      }
      return ids;
    },
    async task(deviceIds: string[], payload: unknown, more: object = {}): Promise<string> {
      const body = { name: 'stage', kind: 'UPDATE', payload, targets: { deviceIds }, ...more };
      return (await call('POST', '/api/tasks', body)).id;
    },
    /** When it ended. */
    ended: (taskId: string) =>
      until(async () => {
        const task = await call('GET', `/api/tasks/${taskId}`).catch(() => null);
        return task && task.endedAt !== null ? task : null;
      }),
    async taskDevices(taskId: string) {
      const { taskDevices } = await call('GET', `/api/tasks/${taskId}/devices?limit=500`);
      return taskDevices as { id: string; deviceId: string; status: string; attempt: number }[];
    },
    look: (id: string) => call('GET', `/api/task-devices/${id}`),
    events: async (id: string) =>
      (await call('GET', `/api/task-devices/${id}/events`)).events as {
        type: string;
        attempt: number;
        error?: string;
      }[],
    openGates: (...deviceIds: string[]) => {
      for (const id of deviceIds) writeFileSync(at(`open-${id}`), '');
    },
    /** Every call of the script for these devices, in order. */
    record: (deviceIds: readonly string[]): ScriptCall[] =>
      lines('record')
        .map((line) => {
          const [id = '', attempt = '', deviceId = ''] = line.split(' ');
          return { id, attempt: Number(attempt), deviceId };
        })
        .filter(({ deviceId }) => deviceIds.includes(deviceId)),
    finished: () => lines('finished'),
    overlaps: () => lines('overlaps'),
    instance: () => lines('state/instance')[0] as string,
    journal: () => lines('state/journal.ndjson').join('\n'),
    async close() {
      await runner.kill();
      await stage.close();
    },
  };
}

export type RunnerStage = Awaited<ReturnType<typeof runnerStage>>;
