import { setTimeout as pause } from 'node:timers/promises';
import { Dropped, Phone, Refused, type TestCertificate, testCertificate } from '@muster/mdm/simulation';
import { createClient } from 'graphql-ws';
import { WebSocket } from 'ws';
import { type Finding, finding } from '../../torture/finding.ts';
import type { Part, Playing } from './part.ts';
import { keepOpen } from './server-sent.ts';

/** A phone that is locked and unlocked over GraphQL, and two followers of its policy: over server-sent events and a WebSocket. */
const [LOCK, UNLOCK] = ['5', '6'];
const ASSIGN = `mutation ($deviceId: ID!, $actionId: ID!, $key: String) {
  assignAction(deviceId: $deviceId, actionId: $actionId, whenBusy: QUEUE, idempotencyKey: $key) { executionId enrolmentToken } }`;
const POLICY = 'query ($id: ID!) { device(id: $id) { policy } }';
const ENDED = 'query ($id: ID!) { execution(id: $id) { action { state } } }';
const CHANGED = 'subscription ($id: ID) { deviceStateChanged(deviceId: $id) { policy } }';
const BETWEEN_MS = 50;
/** Without disturbances, and after this long, a follower that does not know the policy has missed a change. */
const PATIENCE_MS = 60_000;

export const pipeline =
  (issuer: TestCertificate): Part =>
  async (playing) => {
    const { isOver, random } = playing;
    const { id, phone } = await enrolled(playing, issuer);
    const followers = [overEvents(playing, id), overWebSocket(playing, id)];
    const found: Finding[] = [];
    for (let n = 0; (!isOver() || n === 0) && found.length === 0; n += 1) {
      const actionId = n % 2 === 0 ? LOCK : UNLOCK;
      const wanted = n % 2 === 0 ? 'locked' : 'active';
      const { assignAction } = await ask(playing, ASSIGN, {
        deviceId: id,
        actionId,
        key: `phone ${id} ${n}`,
      });
      while (found.length === 0 && (await policyOf(playing, id)) !== wanted) {
        await phone.connect().catch(passing);
        const { execution } = await ask(playing, ENDED, { id: assignAction.executionId });
        if (['failed', 'cancelled', 'expired'].includes(execution.action.state))
          found.push(finding('G74', null, `the phone was to be ${wanted}: ${execution.action.state}`));
        await pause(BETWEEN_MS);
      }
      await pause(random.int(0, 300));
    }
    const last = await policyOf(playing, id);
    for (const follower of followers) {
      const until = performance.now() + PATIENCE_MS;
      while (follower.policy() !== last && performance.now() < until) await pause(20);
      if (follower.policy() !== last)
        found.push(
          finding('G43', null, `the phone is ${last}, and ${follower.name} was told ${follower.policy()}`),
        );
      await follower.end();
    }
    return found;
  };

// biome-ignore lint/suspicious/noExplicitAny: whatever came
async function ask({ caller, token }: Playing, query: string, variables: object): Promise<any> {
  for (;;) {
    const { body } = await caller.surely('POST', '/graphql', { token, body: { query, variables } });
    if (!body.errors) return body.data;
    const code = body.errors[0]?.extensions?.code;
    // the database, or the node, in the middle of the document
    if (code !== undefined && !/^MUSTER_(STOPPING|NO_ANSWER|OVERLOADED|DATABASE_|LANE_BUSY)/.test(code))
      throw new Error(`GraphQL: ${JSON.stringify(body.errors)}`);
    await pause(BETWEEN_MS);
  }
}

const policyOf = async (playing: Playing, id: string): Promise<string> =>
  (await ask(playing, POLICY, { id })).device.policy;

function passing(error: unknown): void {
  if (error instanceof Dropped || (error instanceof Refused && error.reply.status >= 500)) return;
  throw error;
}

async function enrolled(playing: Playing, issuer: TestCertificate): Promise<{ id: string; phone: Phone }> {
  const { caller, random, token } = playing;
  const name = `phone ${random.next()}`;
  let made = await caller.once('POST', '/api/devices', { token, body: { name } });
  while (made?.status !== 201) made = await caller.once('POST', '/api/devices', { token, body: { name } });
  const { id } = made.body;
  await ask(playing, ASSIGN, { deviceId: id, actionId: '2', key: `register ${id}` });
  const phone = new Phone();
  const identity = await testCertificate({ commonName: name, issuer, purposes: ['clientAuth'] });
  while (!phone.enrolled) {
    const said = await caller.surely('POST', `/api/devices/${id}/mdm/enrolment`, { token, body: {} });
    // also after a refusal: a request for another profile may be carried out late, at a node that stood still
    await phone.enrol(said.body.url, { identity }).catch((error) => {
      if (!(error instanceof Refused)) passing(error);
    });
  }
  while ((await policyOf(playing, id)) !== 'active') await pause(BETWEEN_MS);
  return { id, phone };
}

interface Follower {
  readonly name: string;
  policy(): string;
  end(): Promise<void>;
}

/** A subscription has no memory: who subscribes again reads the state after that, as every client should. */
function overEvents(playing: Playing, id: string): Follower {
  let policy = 'nothing';
  const end = keepOpen(playing.caller, {
    path: '/graphql',
    headers: { authorization: `Bearer ${playing.token}` },
    body: { query: CHANGED, variables: { id } },
    async opened() {
      policy = await policyOf(playing, id);
    },
    heard({ data, event }) {
      const told = event === 'next' ? JSON.parse(data).data?.deviceStateChanged : undefined;
      if (told) policy = told.policy;
    },
  });
  return { name: 'the subscription over events', policy: () => policy, end };
}

function overWebSocket(playing: Playing, id: string): Follower {
  let policy = 'nothing';
  const client = createClient({
    url: `${playing.caller.url.replace('http', 'ws')}/graphql`,
    webSocketImpl: WebSocket,
    connectionParams: { authorization: `Bearer ${playing.token}` },
    retryAttempts: Number.POSITIVE_INFINITY,
    retryWait: () => pause(BETWEEN_MS),
    shouldRetry: () => true,
    on: {
      // the subscription follows at once; a change between both is in the state or in the subscription
      connected: () => void setTimeout(() => void look(), BETWEEN_MS),
    },
  });
  async function look(): Promise<void> {
    policy = await policyOf(playing, id);
  }
  client.subscribe(
    { query: CHANGED, variables: { id } },
    {
      next: ({ data }) => {
        policy = (data as { deviceStateChanged: { policy: string } }).deviceStateChanged.policy;
      },
      error() {},
      complete() {},
    },
  );
  return {
    name: 'the subscription over a WebSocket',
    policy: () => policy,
    end: async () => client.dispose(),
  };
}
