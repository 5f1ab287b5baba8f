import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { processOf, serverStage } from './process-stage.ts';
import { MUSTER } from './programs.ts';

/**
 * A server and an agent as users run them, each in its own process that is killed and started again, and a fake `systemctl` that
 * records each call. The name of a unit says what it does: `gate-…` waits until the test opens its gate, `fails-…` fails,
 * `short-…` takes a moment. Two calls at once for one unit are recorded too.
 */
const STAND_IN = `#!/bin/sh
trap '' PIPE # its agent may have been killed
trap 'rmdir "$STAGE/busy-$3"; exit 143' TERM
mkdir "$STAGE/busy-$3" || echo "$MUSTER_ACTION_ID $MUSTER_ATTEMPT" >> "$STAGE/overlaps"
echo "$MUSTER_ACTION_ID $MUSTER_ATTEMPT $*" >> "$STAGE/record"
echo "this is $3"
case "$3" in
  gate-*) while [ ! -e "$STAGE/open-$3" ]; do sleep 0.02; done ;;
  fails-*) echo "it went wrong" >&2; rmdir "$STAGE/busy-$3"; exit 7 ;;
  short-*) sleep 0.05 ;;
esac
rmdir "$STAGE/busy-$3"
echo "$MUSTER_ACTION_ID $MUSTER_ATTEMPT" >> "$STAGE/finished"
`;

export interface Call {
  readonly id: string;
  readonly attempt: number;
  readonly words: string;
}

export async function agentStage(settings: Record<string, string> = {}) {
  const bin = mkdtempSync(path.join(tmpdir(), 'muster-bin-'));
  writeFileSync(path.join(bin, 'systemctl'), STAND_IN);
  chmodSync(path.join(bin, 'systemctl'), 0o755);
  const stage = await serverStage({ PATH: `${bin}:${process.env.PATH}` }, settings);
  const { at, call, folder, lines, server, url } = stage;
  writeFileSync(at('units'), '# what this host allows\n');
  const host = await call('POST', '/api/hosts', { name: 'stage' });
  writeFileSync(at('token'), host.agentToken);
  const agent = processOf(
    [
      ...MUSTER,
      'agent',
      '--server',
      url,
      '--token-file',
      at('token'),
      '--allow-file',
      at('units'),
      '--state-dir',
      at('state'),
    ],
    /The agent asks/,
    stage.environment,
  );

  return {
    url,
    hostId: host.id as string,
    agentToken: host.agentToken as string,
    folder,
    server,
    agent,
    call,
    async service(unitName: string, allowed = true): Promise<string> {
      if (allowed) writeFileSync(at('units'), `${unitName}\n`, { flag: 'a' });
      return (await call('POST', `/api/hosts/${host.id}/services`, { unitName })).id;
    },
    async queue(serviceId: string, kind = 'restart', key?: string): Promise<string> {
      const headers = key === undefined ? {} : { 'idempotency-key': key };
      return (await call('POST', `/api/hosts/${host.id}/actions`, { serviceId, kind }, headers)).id;
    },
    look: (id: string) => call('GET', `/api/hosts/${host.id}/actions/${id}`),
    openGate: (unit: string) => writeFileSync(at(`open-${unit}`), ''),
    /** Every call of the fake, in order. */
    record: (): Call[] =>
      lines('record').map((line) => {
        const [id = '', attempt = '', ...words] = line.split(' ');
        return { id, attempt: Number(attempt), words: words.join(' ') };
      }),
    finished: () => lines('finished'),
    overlaps: () => lines('overlaps'),
    async close() {
      await agent.kill();
      await stage.close();
      rmSync(bin, { recursive: true, force: true });
    },
  };
}

export type AgentStage = Awaited<ReturnType<typeof agentStage>>;
