import { readConfig, unknownSettings } from '../config.ts';
import { type Server, startServer } from '../main.ts';
import type { OperatorToken } from '../tokens/operator-token.ts';
import { sentenceOf } from './sentence.ts';
import { startProgress } from './start-progress.ts';

/** Ctrl-C reaches this process from the terminal and, under npm, once more from npm: both are one key press. */
const ONE_KEY_PRESS_MS = 500;

/** `muster serve`: runs until it is told to stop. Ends with 0 after a stop, 1 after a failure; a second signal insists. */
export async function serve(): Promise<void> {
  let server: Server | undefined;
  let stoppingSince: number | undefined;
  const starting = start();

  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.on(signal, () => {
      const now = performance.now();
      if (stoppingSince !== undefined) {
        if (now - stoppingSince > ONE_KEY_PRESS_MS) process.exit(130);
        return;
      }
      stoppingSince = now;
      void starting.then(async () => {
        await server?.stop();
        process.exit(0);
      });
    });
  for (const fault of ['uncaughtException', 'unhandledRejection'] as const)
    process.on(fault, (error: unknown) => {
      // Nobody knows what state this process is in; the database does, and the next start begins there.
      write(60, fault, { err: String((error as Error)?.stack ?? error) });
      process.exit(1);
    });
  await starting;

  async function start(): Promise<void> {
    for (const name of unknownSettings()) write(40, `${name} is set, but there is no such setting.`);
    try {
      const progress = startProgress((sentence) => console.log(sentence));
      server = await startServer(readConfig(), { onStep: progress.step }).finally(progress.end);
    } catch (error) {
      console.error(sentenceOf(error));
      process.exit(1);
    }
    console.log(`Muster listens on ${server.url}`);
    console.log(howToGetIn(server.operatorToken));
  }
}

/** A line of the log before there is one, or when it may be broken. */
function write(level: number, msg: string, more: object = {}): void {
  console.error(JSON.stringify({ level, time: Date.now(), msg, ...more }));
}

function howToGetIn(operator: OperatorToken): string {
  switch (operator.from) {
    case 'new':
      return `Operator token, shown this once and kept in ${operator.file}:\n\n  ${operator.token}\n`;
    case 'file':
      return `The operator token is in ${operator.file}`;
    case 'setting':
      return 'The operator token is the one in MUSTER_OPERATOR_TOKEN.';
    case 'issued':
      return 'Operator tokens were issued before; "muster token create" makes another one.';
  }
}
