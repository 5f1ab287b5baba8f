import { setTimeout as pause } from 'node:timers/promises';
import { finding } from '../../torture/finding.ts';
import { type Caller, whyNot } from './caller.ts';

/** A stream of server-sent events through the balancer, opened again whenever it ends, as browsers do. */
const BETWEEN_MS = 100;

export interface Message {
  readonly event: string;
  readonly data: string;
}

export interface Stream {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: object;
  /** Called when it is open, before its messages are read. */
  opened?(): Promise<void>;
  heard(message: Message): void;
}

/** Returns a function that ends it. */
export function keepOpen(caller: Caller, stream: Stream): () => Promise<void> {
  const ended = new AbortController();
  const place = { lastId: '' };
  async function run(): Promise<void> {
    while (!ended.signal.aborted) {
      await openOnce(caller, stream, place, ended.signal).catch((error) => {
        if (!ended.signal.aborted) caller.witness.saw(`the stream ${stream.path}`, null, whyNot(error));
      });
      if (!ended.signal.aborted) await pause(BETWEEN_MS);
    }
  }
  const running = run();
  return async () => {
    ended.abort();
    await running;
  };
}

async function openOnce(
  caller: Caller,
  { body, headers, heard, opened, path }: Stream,
  place: { lastId: string },
  signal: AbortSignal,
): Promise<void> {
  const response = await fetch(caller.url + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      accept: 'text/event-stream',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(place.lastId === '' ? {} : { 'last-event-id': place.lastId }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal,
  });
  if (!response.ok || response.body === null) {
    const text = await response.text();
    if (caller.witness.saw(`the stream ${path}`, response.status, text) !== 'answer') return;
    caller.witness.faults.push(finding('G64', null, `the stream ${path} was refused: ${text}`));
    await pause(BETWEEN_MS);
    return;
  }
  caller.witness.saw(`the stream ${path}`, response.status, '');
  const opening = opened?.();
  let rest = '';
  for await (const part of response.body.pipeThrough(new TextDecoderStream())) {
    const blocks = `${rest}${part}`.split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const fields = fieldsOf(block);
      // a message counts as heard with its id: half of one is heard again
      if (fields.data !== undefined) heard({ event: fields.event ?? 'message', data: fields.data });
      if (fields.id !== undefined) place.lastId = fields.id;
    }
  }
  await opening;
}

function fieldsOf(block: string): { event?: string; data?: string; id?: string } {
  return Object.fromEntries(
    block.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
  );
}
