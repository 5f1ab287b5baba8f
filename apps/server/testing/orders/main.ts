import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { startCluster } from '../../../../testing/postgres-cluster.mjs';
import { muster, type Running, serve } from '../muster-process.ts';
import { playOrders } from './play-orders.ts';

const OPERATOR = 'operator-of-the-orders-0123456789-abcdef';
/** An order takes a second; callbacks and housekeeping follow in the next one. */
const ROUND_MS = 1_500;

/**
 * `npm run orders -- --bots 200 --orders 10000 --kills 5 --seed 7 --database server|embedded`: bots that compete for orders of one
 * second each, with a server in its own process that is killed this many times. Exits with 0 if nothing is wrong.
 */
export async function main(argv: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      bots: { type: 'string', default: '200' },
      orders: { type: 'string', default: '10000' },
      kills: { type: 'string', default: '5' },
      seed: { type: 'string', default: String(Date.now()) },
      database: { type: 'string', default: 'server' },
    },
  });
  const say = (text: string) => process.stdout.write(`${text}\n`);
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-orders-'));
  const cluster = values.database === 'embedded' ? null : await startCluster();
  const port = 20_000 + (process.pid % 20_000);
  const settings = {
    ...{ HOME: folder, PORT: String(port), MUSTER_DATA_DIR: path.join(folder, 'data') },
    ...{ MUSTER_OPERATOR_TOKEN: OPERATOR, MUSTER_LOG_LEVEL: 'warn', MUSTER_ORDER_SECONDS: '1' },
    ...(cluster
      ? { DATABASE_URL: cluster.url, MUSTER_SECRETS_KEY: Buffer.alloc(32, 'key').toString('base64') }
      : {}),
  };
  const kills = Number(values.kills);
  let killed = 0;
  let server: Running | undefined;
  const began = performance.now();
  try {
    server = await serve(settings);
    say(`seed ${values.seed}`);
    const report = await playOrders({
      ...{ bots: Number(values.bots), orders: Number(values.orders), seed: values.seed, operator: OPERATOR },
      url: () => `http://127.0.0.1:${port}`,
      elapse: () => new Promise((resolve) => setTimeout(resolve, ROUND_MS)),
      async disturb(done) {
        if (killed >= kills || done < (killed + 1) / (kills + 1)) return;
        killed += 1;
        say(`${Math.round(done * 100)} % done: the server is killed`);
        await server?.stop('SIGKILL');
        server = await serve(settings);
      },
    });
    const { acts, claims, compared, completed, deleted, faults, lost, reasons, rounds } = report;
    const seconds = Math.round((performance.now() - began) / 1_000);
    say(
      `${completed} orders completed (${JSON.stringify(reasons)}), ${deleted} deleted, ${rounds} rounds in ${seconds} s`,
    );
    say(
      `${claims} claims, ${compared} of those that got an order compared, ${acts} acts, ${killed} kills, ${lost} answers lost`,
    );
    await server.stop();
    server = undefined;
    const check = await muster(['check'], settings);
    say(check.out.trim());
    for (const fault of faults) say(fault);
    const isWell = faults.length === 0 && check.code === 0;
    say(
      isWell
        ? 'Each order was completed once, none was overtaken, and no bot is stuck.'
        : 'It is not as it should be.',
    );
    return isWell ? 0 : 1;
  } finally {
    await server?.stop('SIGKILL');
    await cluster?.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}
