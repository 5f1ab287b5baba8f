/** One channel of a simulated device: its push token, and the conversation about commands. */
import { randomBytes, randomUUID } from 'node:crypto';
import type { PlistDict } from '../../plist/parse-plist.ts';
import type { FakeApns } from '../fake-apns.ts';
import { type Answer, type ReceivedCommand, readCommand, reportOf } from './answers.ts';
import type { ReadProfile } from './read-profile.ts';
import { Dropped, Refused, type Reply } from './send.ts';

/** The device that a channel belongs to. */
export interface ChannelOwner {
  readonly ids: PlistDict;
  readonly profile: ReadProfile | null;
  readonly erased: boolean;
  readonly answer: (command: ReceivedCommand) => Answer;
  checkIn(message: PlistDict): Promise<Reply>;
  checkOut(): Promise<void>;
  put(url: string, message: PlistDict, more: { drop: boolean }): Promise<Reply>;
}

export class DeviceChannel {
  readonly #phone: ChannelOwner;
  readonly #user: PlistDict;
  /** Every command it received, repetitions included. */
  readonly received: ReceivedCommand[] = [];
  /** Everything it has answered to commands, in the words of `Status`. */
  readonly said: string[] = [];
  token: Uint8Array = randomBytes(32);
  pushMagic: string = randomUUID().toUpperCase();
  /** A result that the server did not get: a device sends it first when it comes again. */
  unsent: PlistDict | null = null;
  /** Breaks the connection while this many results are sent. */
  dropNext = 0;
  /** Sends each result twice. */
  duplicates = false;

  constructor(phone: ChannelOwner, user: PlistDict) {
    this.#phone = phone;
    this.#user = user;
  }

  /** As a device may do at any time; the server keeps the last. */
  rotateToken(): void {
    this.token = randomBytes(32);
    this.pushMagic = randomUUID().toUpperCase();
  }

  async tokenUpdate(more: PlistDict = {}): Promise<void> {
    const topic = this.#phone.profile?.mdm.topic ?? '';
    const message = {
      MessageType: 'TokenUpdate',
      Topic: topic,
      Token: this.token,
      PushMagic: this.pushMagic,
    };
    await this.#phone.checkIn({ ...this.#user, ...message, ...more });
  }

  async connect(): Promise<ReceivedCommand[]> {
    const handled: ReceivedCommand[] = [];
    let command = this.unsent ? await this.#say(this.unsent) : await this.idle();
    while (command !== null) {
      handled.push(command);
      command = await this.report(command, this.#phone.answer(command));
    }
    return handled;
  }

  /** Asks for a command; null if there is none. */
  idle(): Promise<ReceivedCommand | null> {
    return this.#say({ Status: 'Idle' });
  }

  /** Reports the outcome of a command, and gets the next. An erased device reports it once and is gone. */
  async report(command: ReceivedCommand, answer: Answer): Promise<ReceivedCommand | null> {
    const report = reportOf(command, answer);
    // a refusal is not kept: the server asks again
    if (answer.status !== 'NotNow' && !this.#phone.erased) this.unsent = report;
    if (this.duplicates) await this.#say(report);
    const next = await this.#say(report);
    if (command.requestType === 'RemoveProfile' && answer.status === 'Acknowledged') {
      await this.#phone.checkOut();
      return null;
    }
    return this.#phone.erased ? null : next;
  }

  async #say(report: PlistDict): Promise<ReceivedCommand | null> {
    const url = this.#phone.profile?.mdm.serverUrl ?? '';
    const drop = this.dropNext > 0 && report.Status !== 'Idle';
    if (drop) this.dropNext -= 1;
    const message = { ...this.#phone.ids, ...this.#user, ...report };
    const reply = await this.#phone.put(url, message, { drop });
    if (reply.status !== 200) throw new Refused(String(report.Status), reply);
    this.said.push(String(report.Status));
    this.unsent = null;
    if (reply.body.byteLength === 0) return null;
    const command = readCommand(reply.body);
    this.received.push(command);
    return command;
  }

  /**
   * Connects whenever it is pushed with its own magic word. Network failures are left to the next push; other errors
   * are thrown by `stop`, which waits for the last conversation.
   */
  listen(apns: FakeApns): { stop: () => Promise<void> } {
    let talking: Promise<unknown> = Promise.resolve();
    let fault: unknown = null;
    const stop = apns.listen(this.token, ({ body }) => {
      if (JSON.parse(body).mdm !== this.pushMagic) return;
      talking = talking
        .then(() => this.connect())
        .catch((error) => {
          if (!(error instanceof Dropped)) fault ??= error;
        });
    });
    return {
      stop: async () => {
        stop();
        await talking;
        if (fault) throw fault;
      },
    };
  }
}
