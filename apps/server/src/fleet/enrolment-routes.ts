import type { Engine } from '@muster/engine';
import { type Audit, by } from '../audit/audit.ts';
import { change } from '../changes.ts';
import { only, operators } from '../http/access.ts';
import { defineRoute, type Route } from '../http/define-route.ts';
import { created } from '../http/replies.ts';
import type { Caller } from '../tokens/caller.ts';
import type { Tokens } from '../tokens/tokens.ts';
import { enrolmentToken, newToken } from './answers.ts';
import { refusedOr } from './device-routes.ts';
import { deviceError } from './errors.ts';
import type { DeviceQueries } from './queries.ts';
import type { Registry } from './registry.ts';
import { enrolBody, enrolmentTokenBody } from './schemas.ts';

/** Devices that register themselves, any number of them with one token. */
interface Enrolment {
  readonly for: 'devices';
  readonly tags: readonly string[];
  readonly reEnrol: boolean;
}

/** A token that an admin issued by hand has no restriction: it enrols, and enrols nobody again. */
function enrolmentOf(caller: Caller): Enrolment {
  const restriction = caller.restriction as Partial<Enrolment> | null;
  if (restriction === null) return { for: 'devices', tags: [], reEnrol: false };
  if (restriction.for !== 'devices')
    throw deviceError('MUSTER_WRONG_ENROLMENT', 'This enrolment token is not for devices.');
  return { for: 'devices', tags: restriction.tags ?? [], reEnrol: restriction.reEnrol ?? false };
}

export function enrolmentRoutes(tools: {
  audit: Audit;
  engine: Engine;
  queries: DeviceQueries;
  registry: Registry;
  tokens: Tokens;
}): Route[] {
  const { audit, engine, queries, registry, tokens } = tools;
  const { db } = engine;
  return [
    defineRoute({
      method: 'POST',
      path: '/api/enrolment-tokens',
      access: operators('admin'),
      summary: 'A token with which devices register themselves; shown this once',
      body: enrolmentTokenBody,
      responses: { 201: { description: 'Revoke it like every other token.', schema: enrolmentToken } },
      async handler({ body, caller, reply }) {
        const restriction: Enrolment = {
          for: 'devices',
          tags: body.tags ?? [],
          reEnrol: body.reEnrol ?? false,
        };
        const { token, secret } = await change(db, async (tx) => {
          const issued = await tokens.create(tx, {
            tenantId: caller.tenantId,
            kind: 'enrolment',
            name: body.name,
            restriction,
            createdBy: caller.name,
          });
          await audit.write(tx, {
            ...by(caller),
            act: 'token.create',
            target: `token ${issued.token.tokenId}`,
            detail: { kind: 'enrolment', ...body },
          });
          return issued;
        });
        created(reply);
        return { id: token.tokenId, name: body.name, token: secret };
      },
    }),

    defineRoute({
      method: 'POST',
      path: '/api/enrol',
      access: only('enrolment'),
      summary: 'A device registers itself; its token is shown this once',
      body: enrolBody,
      responses: { 201: { description: 'Registered, or registered again.', schema: newToken } },
      async handler({ body, caller, reply }) {
        const { tenantId } = caller;
        const enrolment = enrolmentOf(caller);
        const { deviceId, deviceToken } = await change(db, async (tx) => {
          const options = { tenantId, by: caller.name, known: 'refuse' as const };
          const wanted = { ...body, tags: [...enrolment.tags, ...(body.tags ?? [])] };
          const [answer] = await registry.register(tx, options, [wanted]);
          const again = answer && 'refused' in answer && answer.refused === 'EXISTS';
          if (!again || !enrolment.reEnrol) return refusedOr(answer);
          const externalId = body.externalId as string;
          const device = (await queries.lockByExternalId(tx, tenantId, [externalId])).get(externalId);
          if (!device) return refusedOr(undefined);
          return {
            deviceId: device.deviceId,
            deviceToken: await registry.reEnrol(tx, tenantId, device, caller.name),
          };
        });
        created(reply);
        return { id: deviceId, deviceToken };
      },
    }),
  ];
}
