/** A minimal gateway made of this package: one device, a list of commands, no database. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  type Authority,
  answerScep,
  buildCommand,
  buildEnrolmentProfile,
  type CheckIn,
  type Command,
  commonNameOf,
  type Identity,
  identify,
  isCheckIn,
  MdmError,
  parseCheckIn,
  type Report,
  readReport,
  Trust,
} from '../src/index.ts';

export class PlayedGateway {
  readonly checkIns: { checkIn: CheckIn; identity: Identity; enrolment: string | null }[] = [];
  readonly reports: Report[] = [];
  readonly refusals: string[] = [];
  /** The first is handed out again until the device answers it. */
  queue: { uuid: string; command: Command }[] = [];
  url = '';
  readonly #authority: Authority;
  readonly #server = createServer((request, response) => void this.#serve(request, response));
  readonly #now: Date;

  constructor(authority: Authority, now: Date) {
    this.#authority = authority;
    this.#now = now;
  }

  async start(): Promise<this> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    return this;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  profile(enrolmentId = 'enrolment-1'): Buffer {
    return buildEnrolmentProfile({
      identifier: 'io.muster.enrolment',
      displayName: 'Muster',
      organization: 'Muster',
      enrolmentId,
      serverUrl: `${this.url}/mdm/default`,
      scep: { url: `${this.url}/scep`, challenge: `secret of ${enrolmentId}` },
      topic: 'com.apple.mgmt.External.test',
    });
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    const url = new URL(request.url ?? '/', this.url);
    try {
      if (url.pathname === '/profile') return void response.end(this.profile());
      if (url.pathname === '/scep') return await this.#scep(url, body, response);
      response.end(await this.#mdm(request, url, body));
    } catch (error) {
      if (!(error instanceof MdmError)) throw error;
      this.refusals.push(error.code);
      response.writeHead(400).end();
    }
  }

  async #scep(url: URL, message: Buffer, response: ServerResponse): Promise<void> {
    const server = {
      authority: this.#authority,
      days: 365,
      checkChallenge: async (secret: string, { subject }: { subject: Parameters<typeof commonNameOf>[0] }) =>
        secret === `secret of ${commonNameOf(subject)}`,
      checkRenewal: async () => true,
    };
    const request = { operation: url.searchParams.get('operation') ?? '', message };
    const answer = await answerScep(server, request, this.#now);
    response.writeHead(answer.status, { 'content-type': answer.contentType }).end(answer.body);
  }

  async #mdm(request: IncomingMessage, url: URL, body: Buffer): Promise<Buffer> {
    const presented = {
      body,
      signature: request.headers['mdm-signature']?.toString(),
      header: request.headers['x-client-cert']?.toString(),
    };
    const identity = await identify(presented, new Trust(this.#authority.pem), this.#now);
    if (isCheckIn(request.headers['content-type'])) {
      this.checkIns.push({ checkIn: parseCheckIn(body), identity, enrolment: url.searchParams.get('e') });
      return Buffer.alloc(0);
    }
    const read = readReport(body);
    if (!read.ok) throw read.error;
    return this.#next(read.report);
  }

  #next(report: Report): Buffer {
    this.reports.push(report);
    if (report.status === 'NotNow') return Buffer.alloc(0);
    if (report.status !== 'Idle') this.queue = this.queue.filter(({ uuid }) => uuid !== report.commandUuid);
    const [next] = this.queue;
    return next ? buildCommand(next.uuid, next.command) : Buffer.alloc(0);
  }
}
