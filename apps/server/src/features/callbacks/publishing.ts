import { createHash } from 'node:crypto';
import type { NewMessage } from '../../callbacks/callbacks.ts';
import {
  DEFAULT_RETRIES,
  DEFAULT_TIMEOUT_MS,
  type Follower,
  type Sending,
  storedBody,
} from '../../callbacks/message.ts';
import { httpError } from '../../http/errors.ts';
import type { Outgoing } from '../../outgoing/outgoing.ts';
import { millisecondsOf } from './durations.ts';
import { callbackError } from './errors.ts';

/** A publish request as the QStash client sends it: nearly everything is in headers. */
export interface Publishing {
  readonly destination: string;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
const MOST_RETRIES = 100;
const LONGEST_TIMEOUT_MS = 600_000;
const LONGEST_DELAY_MS = 366 * 86_400_000;
const LONGEST_ID = 500;
const LONGEST_LABEL = 512;
const FORWARD = 'forward-';
/** Headers that only the connection or this server may set. */
const NOT_FORWARDED =
  /^(?:host|connection|content-length|transfer-encoding|keep-alive|te|trailer|upgrade|expect|proxy-.*|upstash-.*|user-agent)$/;
/** In a batch they come as JSON, which may contain anything. */
const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/;
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
/** Parts of QStash that would otherwise be ignored silently. */
const NOT_OFFERED = [
  ...[
    'flow-control-key',
    'flow-control-value',
    'cron',
    'schedule-id',
    'queue-name',
    'retry-delay',
    'redact-fields',
  ],
];

const wrong = (header: string, complaint: string) =>
  callbackError('MUSTER_BAD_CALLBACK', `The header ${header} ${complaint}`);

/** Reads the requested message; every error in it is reported before anything is stored. */
export function readPublishing(
  { destination, headers, body }: Publishing,
  { now, outgoing }: { now: Date; outgoing: Outgoing },
): Omit<NewMessage, 'tenantId' | 'createdBy'> {
  for (const part of NOT_OFFERED)
    if (headers[`upstash-${part}`] !== undefined)
      throw callbackError('MUSTER_NOT_OFFERED', `The header Upstash-${part} is not supported.`);
  const { bodyBytes } = outgoing.limits;
  if (body.length > bodyBytes)
    throw httpError('MUSTER_TOO_LARGE', `The body of a message can have at most ${bodyBytes} bytes.`);
  const url = addressOf(destination, outgoing);
  const sending = sendingOf(headers, 'upstash-', url);
  const contentType = headers['content-type'];
  if (contentType !== undefined && !HEADER_VALUE.test(contentType))
    throw wrong('content-type', 'cannot be forwarded.');
  const follower = (prefix: string): Follower | undefined => {
    const to = headers[prefix];
    if (to === undefined) {
      const option = Object.keys(headers).find((name) => name.startsWith(`${prefix}-`));
      if (option !== undefined) throw wrong(option, `needs ${prefix}.`);
      return undefined;
    }
    const delayMs = durationOf(headers, `${prefix}-delay`, LONGEST_DELAY_MS) ?? 0;
    return { ...sendingOf(headers, `${prefix}-`, addressOf(to, outgoing)), delayMs };
  };
  const callback = follower('upstash-callback');
  const failureCallback = follower('upstash-failure-callback');
  const message = {
    ...sending,
    headers: { ...(contentType === undefined ? {} : { 'content-type': contentType }), ...sending.headers },
    ...storedBody(body),
    ...(callback ? { callback } : {}),
    ...(failureCallback ? { failureCallback } : {}),
  };
  const labels = headers['upstash-label']
    ?.split(',')
    .map((label) => label.trim())
    .filter(Boolean);
  if (labels?.some((label) => label.length > LONGEST_LABEL))
    throw wrong('upstash-label', `has a label of more than ${LONGEST_LABEL} characters.`);
  return {
    message,
    notBefore: timeOf(headers, now),
    deduplicationId: deduplicationIdOf(headers, message),
    labels: labels && [...new Set(labels)],
  };
}

function addressOf(destination: string, outgoing: Outgoing): string {
  if (!/^https?:/i.test(destination))
    throw callbackError(
      'MUSTER_NOT_OFFERED',
      `"${destination.slice(0, 100)}" is not an http or https URL, and Muster has no topics to publish to.`,
    );
  const url = outgoing.check(destination);
  if (typeof url === 'string') throw callbackError('MUSTER_BAD_DESTINATION', `The destination ${url}`);
  url.hash = '';
  return url.toString();
}

function sendingOf(headers: Publishing['headers'], prefix: string, url: string): Sending {
  const method = (headers[`${prefix}method`] ?? 'POST').toUpperCase();
  if (!METHODS.includes(method)) throw wrong(`${prefix}method`, `must be one of ${METHODS.join(', ')}.`);
  const retries = headers[`${prefix}retries`] ?? String(DEFAULT_RETRIES);
  if (!/^\d{1,3}$/.test(retries) || Number(retries) > MOST_RETRIES)
    throw wrong(`${prefix}retries`, `must be a whole number from 0 to ${MOST_RETRIES}.`);
  const timeoutMs = durationOf(headers, `${prefix}timeout`, LONGEST_TIMEOUT_MS) ?? DEFAULT_TIMEOUT_MS;
  if (timeoutMs < 1_000) throw wrong(`${prefix}timeout`, 'must be at least one second.');
  const forwarded = Object.entries(headers).flatMap(([name, value]) => {
    if (!name.startsWith(prefix + FORWARD)) return [];
    const given = name.slice(prefix.length + FORWARD.length);
    if (!HEADER_NAME.test(given) || !HEADER_VALUE.test(value)) throw wrong(name, 'cannot be forwarded.');
    return NOT_FORWARDED.test(given) ? [] : [[given, value]];
  });
  return { url, method, retries: Number(retries), timeoutMs, headers: Object.fromEntries(forwarded) };
}

function durationOf(headers: Publishing['headers'], name: string, most: number): number | undefined {
  const text = headers[name];
  if (text === undefined) return undefined;
  const ms = millisecondsOf(text);
  if (ms === null || ms > most)
    throw wrong(name, `must be a duration like 10s, 5m, 2h or 1d12h, at most ${most / 1_000}s.`);
  return ms;
}

/** Not-before takes precedence over a delay, as in QStash. */
function timeOf(headers: Publishing['headers'], now: Date): Date | undefined {
  const seconds = headers['upstash-not-before'];
  if (seconds !== undefined) {
    if (!/^\d{1,11}$/.test(seconds) || Number(seconds) * 1_000 > now.getTime() + LONGEST_DELAY_MS)
      throw wrong('upstash-not-before', 'must be a time in seconds since 1970, within a year.');
    return new Date(Number(seconds) * 1_000);
  }
  const delayMs = durationOf(headers, 'upstash-delay', LONGEST_DELAY_MS);
  return delayMs === undefined ? undefined : new Date(now.getTime() + delayMs);
}

function deduplicationIdOf(headers: Publishing['headers'], message: object): string | undefined {
  const id = headers['upstash-deduplication-id'];
  if (id !== undefined) {
    if (id === '' || id.length > LONGEST_ID)
      throw wrong('upstash-deduplication-id', `must have 1 to ${LONGEST_ID} characters.`);
    return `id:${encodeURIComponent(id)}`;
  }
  const byContent = headers['upstash-content-based-deduplication'] ?? 'false';
  if (byContent !== 'true' && byContent !== 'false')
    throw wrong('upstash-content-based-deduplication', 'must be true or false.');
  if (byContent === 'false') return undefined;
  return `content:${createHash('sha256').update(JSON.stringify(message)).digest('hex')}`;
}
