import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from '@muster/client';
import { Option } from 'commander';
import { EXIT, UsageError } from './exit-codes.ts';
import { OPTIONS, wholeNumber } from './run.ts';
import type { Session } from './session.ts';
import { why } from './words.ts';

/** Options of every assignment, whatever its target. */
export const ASSIGN_OPTIONS = (): Option[] => [
  new Option('--payload <json>', 'JSON, or @file'),
  new Option('--urgent', 'ahead of normal actions'),
  new Option('--not-before <time>', 'the earliest time, such as 2027-01-31T08:00:00Z'),
  new Option('--deliver-by <time>', 'expires if it is not handed out by then'),
  new Option('--deadline <time>', 'fails if it is not done by then'),
  new Option('--max-attempts <n>', 'the number of attempts').argParser(wholeNumber(1, 1_000)),
  new Option('--key <key>', 'repeating the key assigns nothing new'),
  OPTIONS.wait(),
];

export interface Assigning {
  readonly payload?: string;
  readonly urgent?: boolean;
  readonly notBefore?: string;
  readonly deliverBy?: string;
  readonly deadline?: string;
  readonly maxAttempts?: number;
  readonly key?: string;
  readonly wait?: boolean;
}

export function bodyOf(kind: string, options: Assigning) {
  const { notBefore, deliverBy, deadline, maxAttempts } = options;
  return {
    kind,
    ...(options.payload === undefined ? {} : { payload: jsonOf(options.payload) }),
    ...(options.urgent ? { priority: 'urgent' as const } : {}),
    ...(notBefore ? { notBefore } : {}),
    ...(deliverBy ? { deliverBy } : {}),
    ...(deadline ? { deadline } : {}),
    ...(maxAttempts ? { maxAttempts } : {}),
  };
}

export const keyOf = ({ key }: Pick<Assigning, 'key'>): { headers?: Record<string, string> } =>
  key ? { headers: { 'idempotency-key': key } } : {};

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text.startsWith('@') ? readFileSync(text.slice(1), 'utf8') : text);
  } catch (error) {
    throw new UsageError(`--payload is not JSON: ${error instanceof Error ? error.message : error}`);
  }
}

type Shown = Parameters<typeof why>[0];

/** Prints the new action, at once or, with --wait, when it has ended. */
export async function assigned(
  session: Session,
  answer: { readonly id: string } & Shown,
  { wait }: Assigning,
): Promise<number> {
  if (!wait) {
    session.show(answer, () => [`${answer.id}  ${why(answer, session.now())}`]);
    return EXIT.done;
  }
  const reason = why(answer, session.now());
  session.note(`${answer.id}  ${reason}`);
  const ended = await untilEnded(session, answer.id, reason);
  session.show(ended, () => [`${ended.id}  ${ended.state}  ${why(ended, session.now())}`]);
  return ended.state === 'succeeded' ? EXIT.done : EXIT.unsuccessful;
}

const LOOK_AGAIN_MS = 1_000;

/** Looks every second, and prints the id and the reason whenever that changes. */
async function untilEnded(session: Session, id: string, before: string) {
  let said = before;
  for (;;) {
    const { body } = await lookAt(session.client, id);
    if (body.endedAt) return body;
    const reason = why(body, session.now());
    if (reason !== said) session.note(`${id}  ${reason}`);
    said = reason;
    await pause(LOOK_AGAIN_MS, undefined, session.signal ? { signal: session.signal } : {});
  }
}

const lookAt = (client: Client, id: string) => client.actions.get({ params: { id } });
