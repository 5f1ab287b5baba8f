import cluster from 'node:cluster';
import { availableParallelism } from 'node:os';
import { type Config, logFormat, readConfig, SettingError, unknownSettings } from '../config.ts';
import { LONGEST_STOP_MS } from '../http/app.ts';
import { isText } from '../http/logging.ts';
import { checkPort } from '../http/port.ts';
import { textLine } from '../http/text-lines.ts';
import { type Server, startServer } from '../main.ts';
import { clusterChild } from '../processes/cluster-child.ts';
import { Member } from '../processes/member.ts';
import { Supervisor } from '../processes/supervisor.ts';
import type { OperatorToken } from '../tokens/operator-token.ts';
import { sentenceOf } from './sentence.ts';
import { stopOnSignal } from './signals.ts';
import { startProgress } from './start-progress.ts';

/** After the drain and the end of the last connections, a stop still has to end calls and close the database. */
const REST_OF_STOP_MS = 15_000;

/**
 * `muster serve`: runs until it is stopped. Ends with 0 after a stop, 1 after a failure; a second signal ends it at
 * once.
 */
export async function serve(): Promise<void> {
  for (const fault of ['uncaughtException', 'unhandledRejection'] as const)
    process.on(fault, (error: unknown) => {
      // The state of this process is unknown; the database's is not, and the next start continues from it.
      write(60, fault, { err: String((error as Error)?.stack ?? error) });
      process.exit(1);
    });
  if (cluster.isWorker) return serveHere(new Member(process));
  for (const name of unknownSettings()) write(40, `${name} is set, but there is no such setting.`);
  const config = await orEnd(async () => readConfig());
  const count = await orEnd(async () => processesOf(config));
  return count === 1 ? serveHere() : supervise(count, config.MUSTER_DRAIN_SECONDS * 1_000);
}

async function serveHere(member?: Member): Promise<void> {
  let server: Server | undefined;
  const starting = orEnd(async () => {
    const progress = startProgress((sentence) => console.log(sentence));
    server = await startServer(readConfig(), { member, onStep: progress.step }).finally(progress.end);
    if (member) member.isListening(server);
    else greet(server);
  });
  stopOnSignal(starting, async () => server?.stop());
  await starting;
}

async function supervise(count: number, drainMs: number): Promise<void> {
  const supervisor = new Supervisor({
    count,
    fork: () => clusterChild(cluster),
    stopMs: drainMs + LONGEST_STOP_MS + REST_OF_STOP_MS,
    log: (sentence, more) => write(40, sentence, more),
  });
  const starting = orEnd(async () => {
    const { HOST, PORT } = readConfig();
    await checkPort(HOST, PORT);
    const first = await supervisor.start();
    // it has already logged the reason
    if ('code' in first) process.exit(first.code);
    greet(first);
    console.log(`${count} processes share the port.`);
  });
  stopOnSignal(Promise.resolve(), () => supervisor.stop());
  await starting;
}

/** Only one process can open the embedded database. */
function processesOf({ DATABASE_URL, MUSTER_PROCESSES }: Config): number {
  if (DATABASE_URL !== null) return MUSTER_PROCESSES ?? availableParallelism();
  if (MUSTER_PROCESSES !== null && MUSTER_PROCESSES > 1)
    throw new SettingError(
      'MUSTER_PROCESSES',
      'must be 1 or auto with the embedded database; set DATABASE_URL to use more.',
    );
  return 1;
}

async function orEnd<T>(start: () => Promise<T>): Promise<T> {
  try {
    return await start();
  } catch (error) {
    console.error(sentenceOf(error));
    process.exit(1);
  }
}

function greet({ operatorToken, url }: Pick<Server, 'operatorToken' | 'url'>): void {
  console.log(`Muster listens on ${url}`);
  console.log(howToGetIn(operatorToken));
}

/** A log line before the log exists, or when it may be broken. */
function write(level: number, msg: string, more: object = {}): void {
  const line = JSON.stringify({ level, time: Date.now(), msg, ...more });
  console.error(isText(logFormat(), process.stderr) ? textLine(line).trimEnd() : line);
}

function howToGetIn(operator: OperatorToken): string {
  switch (operator.from) {
    case 'new':
      return `Operator token, shown once and stored in ${operator.file}:\n\n  ${operator.token}\n`;
    case 'file':
      return `The operator token is in ${operator.file}`;
    case 'setting':
      return 'The operator token is the one in MUSTER_OPERATOR_TOKEN.';
    case 'issued':
      return 'An operator token already exists; "muster token create" creates another one.';
  }
}
