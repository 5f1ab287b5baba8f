import { readFileSync } from 'node:fs';
import path from 'node:path';
import { type Client, createClient } from '@muster/client';
import { UsageError } from './exit-codes.ts';

/** What a command needs: settings, a clock and outputs. Tests bring their own. */
export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  say(line: string): void;
  note(line: string): void;
  /** Replaces the line drawn before; only on a terminal. */
  readonly draw?: ((line: string) => void) | undefined;
  now(): Date;
  readonly signal?: AbortSignal;
}

export interface Session extends Surroundings {
  readonly client: Client;
  readonly url: string;
  readonly token: string;
  /** The answer is printed as it is, so nothing has to be looked up for people. */
  readonly json: boolean;
  /** Prints the server's answer as it is, or lines for people. */
  show(answer: unknown, lines: () => readonly string[]): void;
}

export function openSession(around: Surroundings, { json = false }: { readonly json?: boolean }): Session {
  const { env } = around;
  const url = env.MUSTER_URL ?? `http://127.0.0.1:${env.PORT ?? '4000'}`;
  if (!URL.canParse(url)) throw new UsageError(`MUSTER_URL is not a URL: ${url}`);
  const token = tokenOf(env);
  return {
    ...around,
    ...{ json, token, url, client: createClient({ url, token }) },
    show(answer, lines) {
      if (json) around.say(JSON.stringify(answer));
      else for (const line of lines()) around.say(line);
    },
  };
}

/** On the server's own machine, the token of its first start is available. */
function tokenOf(env: Surroundings['env']): string {
  if (env.MUSTER_TOKEN) return env.MUSTER_TOKEN;
  const own = path.join(env.MUSTER_DATA_DIR ?? 'data', 'operator-token');
  const file = env.MUSTER_TOKEN_FILE ?? own;
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    throw new UsageError(
      env.MUSTER_TOKEN_FILE
        ? `The token cannot be read: ${error instanceof Error ? error.message : error}`
        : `No token. Set MUSTER_TOKEN to an operator token, or MUSTER_TOKEN_FILE to a file with one; ${own} does not exist.`,
    );
  }
}
