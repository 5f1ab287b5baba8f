import { EventEmitter } from 'node:events';
import type { FastifyRequest } from 'fastify';
import { expect, test } from 'vitest';
import { LongPolls } from '../src/http/long-poll.ts';
import type { SignIns } from '../src/tokens/sign-ins.ts';
import type { Tokens } from '../src/tokens/tokens.ts';

/** A sign-out between the check of the cookie and the wait has no waiter to notify, so the cookie is checked once more. */
test('G63: a sign-in that ends just before it waits is refused and does not wait', async () => {
  const tokens = { version: 0, watch: () => {} } as unknown as Tokens;
  let isSignedIn = true;
  const signIns = {
    watch: () => {},
    find: async () => (isSignedIn ? {} : null),
  } as unknown as SignIns;
  const polls = new LongPolls(tokens, signIns);
  const request = {
    ...{ caller: { tenantId: 1, tokenId: '1' }, session: 'mst_session', signInId: '7', tokenVersion: 0 },
    raw: { socket: new EventEmitter() },
    routeOptions: { config: {} },
  } as unknown as FastifyRequest;
  expect(await polls.run(request, 25, async () => 'worked', 'ended')).toBe('worked');
  isSignedIn = false;
  await expect(polls.run(request, 25, async () => 'worked', 'ended')).rejects.toThrow('You are signed out.');
  expect(polls.count).toBe(0);
});
