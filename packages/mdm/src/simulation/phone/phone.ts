/**
 * A simulated device: enrols with a profile, signs, answers, refuses, and suffers from its network and its users.
 * Speaks HTTP to whatever address the profile names.
 */
import { type KeyObject, randomBytes, randomUUID, type webcrypto } from 'node:crypto';
import { signingKeyOf } from '../../ca/authority.ts';
import { signData } from '../../cms/signed-data.ts';
import { buildPlist } from '../../plist/build-plist.ts';
import type { PlistDict } from '../../plist/parse-plist.ts';
import type { TestCertificate } from '../certificates.ts';
import { type KeyPair, rsaKeys } from '../keys.ts';
import { type DeviceState, obey, type ReceivedCommand } from './answers.ts';
import { type ChannelOwner, DeviceChannel } from './device-channel.ts';
import { enrolByScep } from './enrol-by-scep.ts';
import { type ReadProfile, readProfile } from './read-profile.ts';
import { Dropped, Refused, type Reply, type Sent, send } from './send.ts';

export interface PhoneOptions {
  readonly udid?: string;
  /** A personal device: it has this and no UDID. */
  readonly enrollmentId?: string;
  readonly serial?: string;
  readonly productName?: string;
  readonly osVersion?: string;
  /** How it presents its certificate; `header` plays the proxy too. */
  readonly by?: 'signature' | 'tls' | { readonly header: string };
  readonly digest?: 'SHA-256' | 'SHA-1';
  /** All devices share one by default: only certificates must differ. */
  readonly keys?: KeyPair;
  /** Trusted authorities, in PEM. */
  readonly ca?: string;
  /** Sent with every message. */
  readonly headers?: Readonly<Record<string, string>>;
}

export class Phone implements DeviceState, ChannelOwner {
  readonly ids: PlistDict;
  readonly serial: string;
  readonly facts: PlistDict;
  readonly busyFor = new Set<string>();
  readonly #options: PhoneOptions;
  readonly #channel: DeviceChannel;
  readonly #users = new Map<string, DeviceChannel>();
  /** Reading a key costs half as much as signing. */
  #signing: { readonly of: KeyObject; readonly key: webcrypto.CryptoKey } | null = null;
  profile: ReadProfile | null = null;
  identity: TestCertificate | null = null;
  unlockToken: Uint8Array = randomBytes(32);
  enrolled = false;
  locked = false;
  configured = false;
  erased = false;
  message: string | null = null;

  constructor(options: PhoneOptions = {}) {
    this.#options = options;
    this.ids =
      options.enrollmentId === undefined
        ? { UDID: options.udid ?? newUdid() }
        : { EnrollmentID: options.enrollmentId };
    this.serial = options.serial ?? randomBytes(5).toString('hex').toUpperCase();
    this.facts = {
      ...(options.enrollmentId === undefined && { SerialNumber: this.serial }),
      OSVersion: options.osVersion ?? '18.1',
      BuildVersion: '22B83',
      ProductName: options.productName ?? 'iPhone14,5',
      ModelName: 'iPhone',
    };
    this.#channel = new DeviceChannel(this, {});
  }

  get udid(): string {
    return String(this.ids.UDID ?? this.ids.EnrollmentID);
  }

  get profileIdentifier(): string | null {
    return this.profile?.identifier ?? null;
  }

  /** Its own channel: tokens, connections, received commands. */
  get channel(): DeviceChannel {
    return this.#channel;
  }

  /** The channel of a user, with tokens of its own. */
  user(userId: string, more: PlistDict = {}): DeviceChannel {
    const channel =
      this.#users.get(userId) ??
      new DeviceChannel(this, { [this.ids.UDID ? 'UserID' : 'EnrollmentUserID']: userId, ...more });
    this.#users.set(userId, channel);
    return channel;
  }

  /**
   * The whole enrolment: the profile from its address or as given, the certificate, Authenticate, TokenUpdate. With an
   * identity that the test has made (`testCertificate`, `issuerOf`) SCEP is skipped, which is most of what a device
   * costs.
   */
  async enrol(
    profile: string | Uint8Array,
    {
      tokenUpdate = {},
      identity,
    }: { readonly tokenUpdate?: PlistDict; readonly identity?: TestCertificate } = {},
  ): Promise<void> {
    this.profile = readProfile(typeof profile === 'string' ? await this.#fetch(profile) : profile);
    this.identity = identity ?? (await enrolByScep(this.profile, this.#keys(), { tls: this.#trust() }));
    await this.authenticate();
    await this.tokenUpdate({ UnlockToken: this.unlockToken, ...tokenUpdate });
  }

  /**
   * A new certificate, requested with the current one; the profile's renewal continues with Authenticate and
   * TokenUpdate.
   */
  async renewCertificate(): Promise<void> {
    const { identity, profile } = this.#ready();
    this.identity = await enrolByScep(profile, this.#keys(), { tls: this.#trust(), current: identity });
  }

  async authenticate(more: PlistDict = {}): Promise<void> {
    await this.checkIn({
      MessageType: 'Authenticate',
      Topic: this.#ready().profile.mdm.topic,
      ...this.facts,
      ...more,
    });
  }

  async tokenUpdate(more: PlistDict = {}): Promise<void> {
    await this.#channel.tokenUpdate(more);
    this.enrolled = true;
  }

  /** Sent once, on a best effort: no one checks whether it arrives. */
  async checkOut(): Promise<void> {
    const { topic, checkOutWhenRemoved } = this.#ready().profile.mdm;
    this.enrolled = false;
    if (!checkOutWhenRemoved) return;
    await this.checkIn({ MessageType: 'CheckOut', Topic: topic }).catch((error) => {
      if (!(error instanceof Dropped)) throw error;
    });
  }

  /** Idle, then command after command until none is left. */
  connect(): Promise<ReceivedCommand[]> {
    return this.#channel.connect();
  }

  /** What it does with a command; a test may replace it. */
  answer = (command: ReceivedCommand) => obey(this, command);

  async checkIn(message: PlistDict): Promise<Reply> {
    const { checkInUrl } = this.#ready().profile.mdm;
    const headers = { 'content-type': 'application/x-apple-aspen-mdm-checkin' };
    const reply = await this.put(checkInUrl, { ...this.ids, ...message }, { headers });
    if (reply.status !== 200) throw new Refused(String(message.MessageType), reply);
    return reply;
  }

  /** A signed message; a 401 has the effect it has on real devices. */
  async put(url: string, message: PlistDict, more: Pick<Sent, 'headers' | 'drop'> = {}): Promise<Reply> {
    const body = buildPlist(message);
    const { headers, tls } = await this.#show(body);
    const reply = await send({
      url,
      method: 'PUT',
      body,
      tls,
      ...more,
      headers: { ...this.#options.headers, ...headers, ...more.headers },
    });
    if (reply.status === 401) this.enrolled = false;
    return reply;
  }

  async #show(body: Buffer): Promise<{ headers: Record<string, string>; tls: NonNullable<Sent['tls']> }> {
    const { identity } = this.#ready();
    const { by = 'signature', digest = 'SHA-256' } = this.#options;
    if (by === 'tls')
      return { headers: {}, tls: { ...this.#trust(), cert: identity.pem, key: identity.keyPem } };
    if (by !== 'signature')
      return {
        headers: { [by.header]: `:${identity.certificate.raw.toString('base64')}:` },
        tls: this.#trust(),
      };
    const { privateKey } = identity.keys;
    if (this.#signing?.of !== privateKey)
      this.#signing = { of: privateKey, key: await signingKeyOf(privateKey, digest) };
    const { key } = this.#signing;
    const signature = await signData({
      content: body,
      detached: true,
      certificate: identity.pki,
      key,
      digest,
    });
    return { headers: { 'mdm-signature': signature.toString('base64') }, tls: this.#trust() };
  }

  async #fetch(url: string): Promise<Buffer> {
    const reply = await send({ url, tls: this.#trust() });
    if (reply.status !== 200) throw new Refused('profile', reply);
    return reply.body;
  }

  #trust() {
    return this.#options.ca === undefined ? {} : { ca: this.#options.ca };
  }

  #keys(): KeyPair {
    return this.#options.keys ?? rsaKeys('phone');
  }

  #ready() {
    const { identity, profile } = this;
    if (profile === null || identity === null) throw new Error('The phone is not enrolled.');
    return { identity, profile };
  }
}

const newUdid = () => randomUUID().toUpperCase();
