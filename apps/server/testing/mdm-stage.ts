import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import {
  CHECKIN_TOPIC,
  type CheckinEvent,
  COMMAND_TOPIC,
  type CommandMessage,
  checkinEvent,
} from '@muster/contracts';
import type { PlistDict } from '@muster/mdm';
import {
  FakeApns,
  Phone,
  type PhoneOptions,
  type TestCertificate,
  testAuthority,
  testCertificate,
} from '@muster/mdm/simulation';
import { expect } from 'vitest';
import type { CreateFeature, Shell } from '../src/feature.ts';
import { type TestServer, type TestServerOptions, testServer } from './test-server.ts';

/** A server with phones, and a fake pipeline on the bus that sends them commands. */
export interface MdmStage {
  readonly apns: FakeApns;
  /** The authority of the settings, which issues certificates for phones. */
  readonly authority: TestCertificate;
  readonly t: TestServer;
  readonly shell: Shell;
  /** Every event of phones, in the order of arrival. */
  readonly told: CheckinEvent[];
  /** A new device, and the URL of its profile. */
  invite(token?: string): Promise<{ id: string; url: string }>;
  /** The URL of another profile for this device. */
  enrolment(id: string, token?: string): Promise<string>;
  /** A certificate of the authority of the settings, without the cost of SCEP. */
  identity(commonName?: string): Promise<TestCertificate>;
  /** A phone that is about to enrol. */
  invited(
    options?: PhoneOptions,
  ): Promise<{ phone: Phone; id: string; enrol(tokenUpdate?: PlistDict): Promise<void> }>;
  /** An enrolled phone. */
  enrolled(options?: PhoneOptions): Promise<{ phone: Phone; id: string }>;
  /** Sends the phone a command; returns the id of the command. */
  command(phone: Phone, more?: Partial<CommandMessage>): Promise<string>;
  /** The same, and waits until the phone would get it. */
  cached(phone: Phone, more?: Partial<CommandMessage>): Promise<string>;
  /** Waits for an event of a command or phone. */
  heard(match: Partial<CheckinEvent>): Promise<CheckinEvent>;
  close(): Promise<void>;
}

export async function mdmStage(
  options: TestServerOptions & { readonly messageTopic?: string } = {},
): Promise<MdmStage> {
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-mdm-'));
  const ca = await testAuthority('Authority of the tests');
  const caFile = path.join(folder, 'ca.pem');
  writeFileSync(caFile, ca.pem);
  const apns = await FakeApns.start();
  const { certificate, key } = await apns.pushCertificate();
  const app = options.messageTopic ? await apns.pushCertificate(options.messageTopic) : null;
  const told: CheckinEvent[] = [];
  let shell: Shell | undefined;
  const player: CreateFeature = (given) => {
    shell = given;
    given.bus.subscribe<CheckinEvent>({
      topic: CHECKIN_TOPIC,
      name: 'played-pipeline',
      take: async (_, messages) => void told.push(...messages.map(({ body }) => checkinEvent.parse(body))),
    });
    return { name: 'player', routes: [] };
  };
  const t = await testServer({
    ...options,
    features: [...(options.features ?? []), player],
    settings: {
      ...{
        MUSTER_MDM_CA: caFile,
        APNS_URL: apns.url,
        APNS_CA: apns.ca,
        APNS_CERT: certificate,
        APNS_KEY: key,
      },
      ...(app && {
        ...{ APNS_MESSAGE_TOPIC: options.messageTopic, APNS_MESSAGE_CERT: app.certificate },
        APNS_MESSAGE_KEY: app.key,
      }),
      ...options.settings,
    },
  });
  const { db, schema } = t.engine;
  const { bus } = shell as Shell;

  const identity = (commonName = `phone ${randomUUID()}`) =>
    testCertificate({ commonName, issuer: ca, purposes: ['clientAuth'] });

  async function enrolment(id: string, token: string = t.operator): Promise<string> {
    const { body } = await t.post(`/api/devices/${id}/mdm/enrolment`, {}, { token });
    t.secret(body.enrolmentToken);
    return body.url;
  }

  async function invite(token: string = t.operator) {
    const { body } = await t.post('/api/devices', { name: `phone ${randomUUID()}` }, { token });
    return { id: body.id as string, url: await enrolment(body.id, token) };
  }

  async function invited(phoneOptions?: PhoneOptions) {
    const { id, url } = await invite();
    const phone = new Phone(phoneOptions);
    t.secret(Buffer.from(phone.unlockToken).toString('base64'));
    const enrol = async (tokenUpdate: PlistDict = {}) =>
      phone.enrol(url, { identity: await identity(), tokenUpdate });
    return { phone, id, enrol };
  }

  async function command({ udid }: Phone, more: Partial<CommandMessage> = {}): Promise<string> {
    const body: CommandMessage = {
      ...{ command_uuid: randomUUID(), device_udid: udid, push_token: null, push_magic: null },
      ...{ request_type: 'DeviceLock', command_payload: {} },
      expires_at: new Date(t.engine.now().getTime() + 58_000).toISOString(),
      ...more,
    };
    await db.transaction((tx) => bus.publish(tx, COMMAND_TOPIC, [{ tenantId: 1, key: udid, body }]));
    return body.command_uuid;
  }

  return {
    apns,
    authority: ca,
    t,
    shell: shell as Shell,
    told,
    invite,
    enrolment,
    identity,
    invited,
    async enrolled(phoneOptions) {
      const { phone, id, enrol } = await invited(phoneOptions);
      await enrol();
      return { phone, id };
    },
    command,
    async cached(phone, more) {
      const commandUuid = await command(phone, more);
      const text = `select 1 from ${schema}.mdm_commands where command_uuid = $1`;
      await expect.poll(async () => (await db.query({ text, values: [commandUuid] })).rows.length).toBe(1);
      return commandUuid;
    },
    async heard(match) {
      const find = () =>
        told.find((event) =>
          Object.entries(match).every(([key, value]) => event[key as keyof CheckinEvent] === value),
        );
      await expect.poll(find).toBeDefined();
      return find() as CheckinEvent;
    },
    async close() {
      await t.close();
      await apns.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
