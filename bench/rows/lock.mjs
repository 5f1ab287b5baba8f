// How long an operator waits for a phone: from the mutation to the push, and from the answer of the phone to the event on a page.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { FakeApns, Phone, testAuthority, testCertificate } from '@muster/mdm/simulation';
import { pause, quantile } from '../measure.mjs';

/** Each is locked and unlocked again and again. */
const PHONES = 8;
const [LOCK, UNLOCK] = ['5', '6'];
const HEADER = 'x-client-cert';

/** A promise, and how it is kept. */
function promised() {
  /** @type {(at: number) => void} */
  let keep = () => {};
  const kept = new Promise((/** @type {(at: number) => void} */ resolve) => {
    keep = resolve;
  });
  return { keep, kept };
}

/** @param {import('../rows.mjs').Task} task */
async function openHouse({ url }) {
  const { openServer } = await import('../server.mjs');
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-bench-lock-'));
  const authority = await testAuthority('Bench');
  writeFileSync(path.join(folder, 'ca.pem'), authority.pem);
  const apns = await FakeApns.start();
  const { certificate, key } = await apns.pushCertificate();
  const server = await openServer(url, {
    MUSTER_SECRETS_KEY: Buffer.alloc(32, 'bench').toString('base64'),
    ...{ MUSTER_MDM_CA: path.join(folder, 'ca.pem'), MUSTER_MDM_CERT_HEADER: HEADER },
    ...{ MUSTER_TRUSTED_PROXIES: '127.0.0.1', APNS_URL: apns.url, APNS_CA: apns.ca },
    ...{ APNS_CERT: certificate, APNS_KEY: key },
  });
  const address = `http://127.0.0.1:${server.port}`;

  /** @param {string} to @param {object} body */
  async function post(to, body) {
    const headers = { ...server.headers, 'content-type': 'application/json' };
    const response = await fetch(address + to, { method: 'POST', headers, body: JSON.stringify(body) });
    const answer = await response.json();
    if (!response.ok || answer.errors) throw new Error(JSON.stringify(answer));
    return answer;
  }
  /** @param {string} query @param {object} variables */
  const ask = async (query, variables = {}) => (await post('/graphql', { query, variables })).data;

  return {
    ...{ address, apns, ask, post, server },
    async enrol() {
      const { id } = await post('/api/devices', { name: 'phone' });
      const phone = new Phone({ by: { header: HEADER } });
      const enrolment = await post(`/api/devices/${id}/mdm/enrolment`, {});
      const identity = await testCertificate({
        ...{ commonName: phone.udid, issuer: authority, purposes: ['clientAuth'] },
      });
      const profile = new URL(enrolment.url);
      await phone.enrol(address + profile.pathname + profile.search, { identity });
      const policy = async () =>
        (await ask('query ($id: ID!) { device(id: $id) { policy } }', { id })).device.policy;
      while ((await policy()) !== 'active') await pause(20);
      await phone.connect(); // as it is called after its first token
      return { id: String(id), phone };
    },
    async close() {
      await server.close();
      await apns.close();
      rmSync(folder, { force: true, recursive: true });
    },
  };
}

/** Hears of all devices, as a page does. @param {string} address @param {Record<string, string>} headers @param {(deviceId: string) => void} heard */
async function subscribe(address, headers, heard) {
  const end = new AbortController();
  const response = await fetch(`${address}/graphql`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json', accept: 'text/event-stream' },
    body: JSON.stringify({ query: 'subscription { deviceStateChanged { deviceId status } }' }),
    signal: end.signal,
  });
  const listening = (async () => {
    let text = '';
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk).toString();
      const parts = text.split('\n\n');
      text = parts.pop() ?? '';
      for (const part of parts) {
        const id = /"deviceId":"(\d+)"/.exec(part)?.[1];
        if (id) heard(id);
      }
    }
  })().catch((error) => {
    if (!end.signal.aborted) throw error;
  });
  return { listening, end: () => end.abort() };
}

/**
 * @param {import('../rows.mjs').Task} task
 * @param {'push' | 'heard'} what
 */
async function lockings(task, what) {
  const { sizes } = task;
  const house = await openHouse(task);
  const { address, apns, ask, server } = house;
  /** @type {Map<string, (at: number) => void>} */
  const hears = new Map();
  const told = await subscribe(address, server.headers, (id) => hears.get(id)?.(performance.now()));
  const phones = [];
  for (let n = 0; n < PHONES; n += 1) phones.push(await house.enrol());
  let counting = false;
  let over = false;
  /** @type {{ push: number[], heard: number[] }} */
  const times = { push: [], heard: [] };

  const loops = phones.map(async ({ id, phone }) => {
    let pushed = promised();
    const stop = apns.listen(phone.channel.token, () => pushed.keep(performance.now()));
    for (let n = 0; !over; n += 1) {
      pushed = promised();
      const changed = promised();
      hears.set(id, changed.keep);
      const asked = performance.now();
      await ask('mutation ($id: ID!, $a: ID!) { assignAction(deviceId: $id, actionId: $a) { status } }', {
        ...{ id, a: n % 2 === 0 ? LOCK : UNLOCK },
      });
      const reached = await pushed.kept;
      const command = await phone.channel.idle();
      if (!command) throw new Error('A phone was pushed, and there was nothing for it.');
      const said = performance.now();
      await phone.channel.report(command, phone.answer(command));
      const heard = await changed.kept;
      if (!counting) continue;
      times.push.push(reached - asked);
      times.heard.push(heard - said);
    }
    stop();
  });
  const failed = Promise.all([...loops, told.listening]);
  await Promise.race([failed, pause(sizes.warmUpSeconds * 1_000)]);
  counting = true;
  await Promise.race([failed, pause(sizes.seconds * 1_000)]);
  over = true;
  await Promise.all(loops);
  told.end();
  await failed;
  await house.close();
  const p99 = quantile(times[what], 0.99);
  return { value: p99, p50: quantile(times[what], 0.5), p99, lockings: times[what].length };
}

const about = `${PHONES} phones, each locked and unlocked without a pause, APNs played over HTTP/2, one subscription over server-sent events; all in one process with the server`;

/** @type {import('../rows.mjs').Row[]} */
export default [
  {
    ...{
      name: 'assign-to-push',
      title: 'From assignAction to the push at APNs, p99',
      unit: 'ms',
      lower: true,
    },
    ...{ uses: ['postgres'], settings: about },
    measure: (task) => lockings(task, 'push'),
  },
  {
    ...{ name: 'report-to-heard', title: 'From the phone’s answer to deviceStateChanged, p99', unit: 'ms' },
    ...{ lower: true, uses: ['postgres'], settings: about },
    measure: (task) => lockings(task, 'heard'),
  },
];
