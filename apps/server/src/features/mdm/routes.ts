import { api, type PhoneAnswer } from '@muster/contracts';
import type { Database } from '@muster/engine';
import { decodeMessage, isCheckIn, PLIST_LIMITS, PROFILE_CONTENT_TYPE } from '@muster/mdm';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Audit } from '../../audit/audit.ts';
import type { Fleet } from '../../fleet/index.ts';
import { anybody, operators } from '../../http/access.ts';
import { bytesOf } from '../../http/bytes-body.ts';
import { defineRoute, type Route } from '../../http/define-route.ts';
import { hideFields } from '../../http/hidden-fields.ts';
import { readIdempotencyKey } from '../../http/idempotency-key.ts';
import { isId } from '../../http/ids.ts';
import { readPage } from '../../http/page.ts';
import { created } from '../../http/replies.ts';
import { DEFAULT_TENANT } from '../../tenants/default-tenant.ts';
import type { CheckIns } from './check-in/check-in.ts';
import type { CommandCache } from './commands/cache.ts';
import type { createConversation } from './conversation.ts';
import { asRefusal, mdmError, refused } from './errors.ts';
import type { Identify } from './identity.ts';
import type { Phones } from './phones.ts';
import type { Profiles } from './profile.ts';
import type { Pushes } from './push/index.ts';
import { pushNow } from './push-now.ts';
import type { RawCommands } from './raw-commands.ts';
import type { Scep } from './scep.ts';
import type { ShownPhones } from './shown-phones.ts';
import { keysOf, refuseErasing } from './written-commands.ts';

interface Tools {
  readonly audit: Audit;
  readonly checkIns: CheckIns;
  readonly commands: CommandCache;
  readonly converse: ReturnType<typeof createConversation>;
  readonly db: Database;
  readonly fleet: Fleet;
  readonly identify: Identify;
  readonly phones: Phones;
  readonly profiles: Profiles;
  /** Null: the host name of the request. */
  readonly publicUrl: string | null;
  readonly pushes: Pushes;
  readonly raw: RawCommands;
  readonly scep: Scep;
  readonly shownPhones: ShownPhones;
  readonly tenantId: (name: string) => Promise<number | null>;
}

const XML = 'application/xml; charset=UTF-8';
const LONGEST_SCEP = 256 * 1_024;
/** Above what is parsed, so longer answers are accepted: the outcome of the command counts, the rest is dropped. */
const LONGEST_MESSAGE = 4 * PLIST_LIMITS.maxBytes;

/** Messages of phones. Public, and never a 401: it would make the phone leave. */
export function phoneRoutes(tools: Tools): Route[] {
  const { checkIns, converse, identify, profiles, scep, tenantId } = tools;
  const addressOf = (request: FastifyRequest) => tools.publicUrl ?? `${request.protocol}://${request.host}`;

  async function hear(request: FastifyRequest, reply: FastifyReply, tenant: number, always: boolean) {
    const body = bytesOf(request.body);
    try {
      const identity = await identify(request, body);
      const answer =
        always || isCheckIn(request.headers['content-type'])
          ? await checkIns(tenant, identity, body, textOf(request, 'e'))
          : await converse(request, tenant, identity, body);
      // an empty answer has no bytes at all; an empty plist would be wrong
      return answer.byteLength === 0 ? reply.code(200).send() : reply.type(XML).send(answer);
    } catch (error) {
      return asRefusal(error);
    }
  }

  async function ask(request: FastifyRequest, reply: FastifyReply, message: Uint8Array | undefined) {
    const operation = textOf(request, 'operation') ?? '';
    const answer = await scep({ operation, ...(message ? { message } : {}) }, request.ip);
    if (answer.refusal)
      request.log.info({ reqId: request.id, ...answer.refusal }, 'A certificate request was refused.');
    return reply.code(answer.status).type(answer.contentType).send(answer.body);
  }

  return [
    defineRoute(api.mdm.message, {
      access: anybody,
      bodyLimit: LONGEST_MESSAGE,
      handler: ({ reply, request }) => hear(request, reply, DEFAULT_TENANT, false),
    }),
    defineRoute(api.mdm.messageOfTenant, {
      access: anybody,
      bodyLimit: LONGEST_MESSAGE,
      async handler({ params, reply, request }) {
        const tenant = await tenantId(params.tenant);
        if (tenant === null) throw refused('There is no such tenant.');
        return hear(request, reply, tenant, false);
      },
    }),
    defineRoute(api.mdm.checkin, {
      access: anybody,
      bodyLimit: PLIST_LIMITS.maxBytes,
      handler: ({ reply, request }) => hear(request, reply, DEFAULT_TENANT, true),
    }),
    defineRoute(api.mdm.profile, {
      access: anybody,
      answerHeaders: { 'cache-control': 'no-store' },
      async handler({ params, reply, request }) {
        const profile = await profiles(params.token, addressOf(request));
        return reply
          .type(PROFILE_CONTENT_TYPE)
          .header('content-disposition', 'attachment; filename="enrol.mobileconfig"')
          .send(profile);
      },
    }),
    defineRoute(api.mdm.scepGet, {
      access: anybody,
      handler({ reply, request }) {
        const message = textOf(request, 'message');
        const wanted = textOf(request, 'operation') === 'PKIOperation' && message !== null;
        return ask(request, reply, wanted ? decodeMessage(message) : undefined);
      },
    }),
    defineRoute(api.mdm.scepPost, {
      access: anybody,
      bodyLimit: LONGEST_SCEP,
      handler: ({ reply, request }) => ask(request, reply, bytesOf(request.body)),
    }),
  ];
}

/** What operators do with phones. */
export function operatorRoutes(tools: Tools): Route[] {
  const { audit, commands, db, fleet, phones, publicUrl, pushes, raw, shownPhones } = tools;
  return [
    defineRoute(api.mdm.enrol, {
      access: operators('operator'),
      async handler({ caller, params, reply, request }) {
        const { tenantId } = caller;
        await fleet.laneOf(db, tenantId, params.id);
        const enrolmentToken = await audit.change(
          caller,
          (tx) => fleet.issueEnrolmentToken(tx, tenantId, params.id, caller.name),
          { act: 'enrolment.issue', target: `device ${params.id}` },
        );
        created(reply);
        const base = publicUrl ?? `${request.protocol}://${request.host}`;
        return { id: params.id, enrolmentToken, url: `${base}/mdm/enrol/${enrolmentToken}` };
      },
    }),
    defineRoute(api.mdm.phone, {
      access: operators('viewer'),
      async handler({ caller, params }) {
        await fleet.laneOf(db, caller.tenantId, params.id);
        const [phone] = await shownPhones(db, caller.tenantId, { deviceId: params.id, limit: 1 });
        if (!phone) throw mdmError('MUSTER_NOT_ENROLLED', 'No phone has enrolled as this device yet.');
        return phone;
      },
    }),
    defineRoute(api.mdm.phones, {
      access: operators('viewer'),
      async handler({ caller: { tenantId }, query }) {
        const { cursor, items } = await readPage(
          query.limit,
          (limit) => shownPhones(db, tenantId, { before: query.cursor, limit }),
          (phone) => phone.id,
        );
        return { phones: [...items], cursor };
      },
    }),
    defineRoute(api.mdm.pushNow, {
      access: operators('operator'),
      async handler({ caller: { tenantId }, params: { id } }) {
        await fleet.laneOf(db, tenantId, id);
        const phone = await phones.ofDevice(db, tenantId, id);
        if (!phone || phone.releasedAt !== null)
          throw mdmError('MUSTER_NOT_ENROLLED', 'No phone is enrolled as this device.');
        const { push_error: error = null, push_result: result = null } = (
          await pushNow(pushes, tenantId, [id])
        )(id);
        return { result, error };
      },
    }),
    defineRoute(api.mdm.answer, {
      access: operators('viewer'),
      async handler({ caller: { tenantId }, params: { id, actionId } }) {
        await fleet.laneOf(db, tenantId, id);
        const phone = await phones.ofDevice(db, tenantId, id);
        const answer =
          phone && isId(actionId) ? await commands.answerOf(db, tenantId, phone.udid, actionId) : null;
        if (answer === null)
          throw mdmError('MUSTER_NO_PHONE_ANSWER', 'No large answer is kept for this action.');
        return hideFields(answer).shown as PhoneAnswer;
      },
    }),
    defineRoute(api.mdm.command, {
      access: operators('operator'),
      bodyLimit: PLIST_LIMITS.maxBytes,
      async handler({ body, caller, params, reply, request }) {
        const { tenantId } = caller;
        await fleet.laneOf(db, tenantId, params.id);
        refuseErasing(caller, body.requestType);
        const { id, outcome, commandUuid } = await audit.change(
          caller,
          (tx) =>
            raw.enqueue(tx, {
              ...{
                tenantId,
                deviceId: params.id,
                by: caller.name,
                serial: body.serial,
                priority: body.priority,
              },
              command: { requestType: body.requestType, keys: keysOf(body.keys ?? {}) },
              idempotencyKey: readIdempotencyKey(request),
            }),
          (queued) =>
            queued.outcome === 'created'
              ? {
                  act: 'command.enqueue',
                  target: `device ${params.id}`,
                  detail: { actionId: queued.id, requestType: body.requestType },
                }
              : null,
        );
        if (outcome === 'created') created(reply);
        return { id, commandUuid };
      },
    }),
  ];
}

/** From the query; a repeated parameter counts as missing. */
function textOf(request: FastifyRequest, name: string): string | null {
  const value = (request.query as Record<string, unknown>)[name];
  return typeof value === 'string' ? value : null;
}
