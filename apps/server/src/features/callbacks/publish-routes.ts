import { api, type PublishedCallback } from '@muster/contracts';
import type { Transaction } from '@muster/engine';
import { messageIdOf, readMessage } from '../../callbacks/message.ts';
import type { Shell } from '../../feature.ts';
import { operators } from '../../http/access.ts';
import { bytesOf } from '../../http/bytes-body.ts';
import { defineRoute, type Route } from '../../http/define-route.ts';
import type { Caller } from '../../tokens/caller.ts';
import { callbackError } from './errors.ts';
import { type Publishing, readPublishing } from './publishing.ts';

export const publishers = operators('operator', 'publisher');
const LARGEST_BATCH = 4 * 1_048_576;
const PREFIX = '/v2/publish/';

export function publishRoutes({ audit, callbacks, engine, outgoing }: Shell): Route[] {
  const read = (publishing: Publishing) => readPublishing(publishing, { now: engine.now(), outgoing });

  async function store(
    tx: Transaction,
    { name, tenantId }: Caller,
    message: ReturnType<typeof read>,
  ): Promise<PublishedCallback> {
    const { actionId, isNew } = await callbacks.publish(tx, { ...message, tenantId, createdBy: name });
    const messageId = messageIdOf(actionId);
    if (isNew) return { messageId, url: message.message.url };
    // the id belongs to the first message, whatever the destination of this one
    const first = readMessage((await engine.get(tx, tenantId, actionId))?.payload);
    return { messageId, url: first?.url ?? message.message.url, deduplicated: true };
  }

  return [
    defineRoute(api.callbacks.publish, {
      access: publishers,
      async handler({ body, caller, reply, request }) {
        const { headers, url } = request;
        const message = read({
          body: bytesOf(body),
          destination: destinationOf(url.slice(PREFIX.length)),
          headers: Object.fromEntries(
            Object.entries(headers).map(([name, value]) => [
              name,
              Array.isArray(value) ? value.join(', ') : (value ?? ''),
            ]),
          ),
        });
        const published = await audit.change(
          caller,
          (tx) => store(tx, caller, message),
          ({ deduplicated, messageId }) =>
            deduplicated ? null : { act: 'callback.publish', target: `message ${messageId}` },
        );
        reply.code(published.deduplicated ? 202 : 201);
        return published;
      },
    }),
    defineRoute(api.callbacks.batch, {
      access: publishers,
      bodyLimit: LARGEST_BATCH,
      async handler({ body, caller, reply }) {
        const messages = body.map(({ body: text = '', destination, headers = {}, queue }) => {
          if (queue !== undefined)
            throw callbackError('MUSTER_NOT_OFFERED', 'Muster has no queues to publish to.');
          const lower = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
          return read({ body: Buffer.from(text), destination, headers: Object.fromEntries(lower) });
        });
        const published = await audit.change(
          caller,
          async (tx) => {
            const all: PublishedCallback[] = [];
            for (const message of messages) all.push(await store(tx, caller, message));
            return all;
          },
          (all) => ({ act: 'callback.publish', detail: { messages: all.map(({ messageId }) => messageId) } }),
        );
        reply.code(201);
        return published;
      },
    }),
  ];
}

/** The rest of the path: unencoded, as the QStash client sends it, or encoded. */
function destinationOf(rest: string): string {
  if (/^https?:/i.test(rest)) return rest;
  try {
    return decodeURIComponent(rest);
  } catch {
    return rest;
  }
}
