import { api, KINDS_BY_HAND, type NewToken, TOKEN_ERRORS } from '@muster/contracts';
import type { CreateFeature } from '../../feature.ts';
import { operators, wholeInstallation } from '../../http/access.ts';
import { defineRoute } from '../../http/define-route.ts';
import { httpError } from '../../http/errors.ts';
import { readPage } from '../../http/page.ts';
import { created, gone } from '../../http/replies.ts';
import { tenantError } from '../../tenants/errors.ts';
import { createTenantQueries } from '../../tenants/queries.ts';
import type { Caller } from '../../tokens/caller.ts';
import type { TokenRow } from '../../tokens/queries.ts';

/** Admins manage the tokens of their tenant. The secret is in the answer to its creation and nowhere else. */
const admins = operators('admin');

export const tokenRoutes: CreateFeature = ({ audit, db, engine, tokens }) => {
  const tenants = createTenantQueries(engine.schema);

  /** Logged for the token's tenant, and for the tenant of the caller if that is another one. */
  function issue(caller: Caller, tenantId: number, body: NewToken) {
    const { kind, name } = body;
    const role = roleOf(body);
    const restriction = restrictionOf(body);
    const isOwn = tenantId === caller.tenantId;
    const line = (made: { token: TokenRow }) => ({
      act: 'token.create' as const,
      target: target(made.token),
      detail: { kind, role, name, ...restriction },
    });
    return audit.change(
      isOwn ? caller : { tenantId, tokenId: null, name: caller.name },
      async (tx) => {
        const made = await tokens.create(tx, {
          tenantId,
          kind,
          role,
          name,
          restriction,
          createdBy: caller.name,
        });
        if (!isOwn)
          await audit.write(tx, caller, {
            ...line(made),
            target: `${target(made.token)} of tenant ${tenantId}`,
          });
        return made;
      },
      line,
    );
  }

  return {
    name: 'tokens',
    errors: TOKEN_ERRORS,
    routes: [
      defineRoute(api.tokens.create, {
        access: admins,
        async handler({ body, caller, reply }) {
          const issued = await issue(caller, caller.tenantId, body);
          created(reply);
          return { ...view(issued.token), token: issued.secret };
        },
      }),

      defineRoute(api.tenants.createToken, {
        access: wholeInstallation('admin'),
        async handler({ body, caller, params, reply }) {
          const tenant = /^\d{1,9}$/.test(params.id) ? await tenants.get(db, Number(params.id)) : null;
          if (!tenant) throw tenantError('MUSTER_UNKNOWN_TENANT', 'There is no tenant with this id.');
          const issued = await issue(caller, tenant.tenantId, body);
          created(reply);
          return { ...view(issued.token), token: issued.secret };
        },
      }),

      defineRoute(api.tokens.list, {
        access: admins,
        async handler({ caller, query }) {
          const kinds = query.kind ? [query.kind] : KINDS_BY_HAND;
          const { items, cursor } = await readPage(
            query.limit,
            (limit) => tokens.list(db, caller.tenantId, { kinds, before: query.cursor, limit }),
            (row) => row.tokenId,
          );
          return { tokens: items.map(view), cursor };
        },
      }),

      defineRoute(api.tokens.revoke, {
        access: admins,
        async handler({ caller, params, reply }) {
          await audit.change(
            caller,
            (tx) => tokens.revoke(tx, caller.tenantId, params.id),
            (token) => ({ act: 'token.revoke', target: target(token) }),
          );
          return gone(reply);
        },
      }),

      defineRoute(api.tokens.rotate, {
        access: admins,
        async handler({ caller, params, reply }) {
          const issued = await audit.change(
            caller,
            (tx) => tokens.rotate(tx, caller.tenantId, params.id, caller.name),
            (made) => ({
              act: 'token.rotate',
              target: target(made.token),
              detail: { replaces: made.token.replaces },
            }),
          );
          created(reply);
          return { ...view(issued.token), token: issued.secret };
        },
      }),
    ],
  };
};

function roleOf({ kind, role }: NewToken) {
  if (kind === 'operator') {
    if (!role) throw httpError('MUSTER_BAD_BODY', 'role is missing: an operator token needs one.');
    return role;
  }
  if (role) throw httpError('MUSTER_BAD_BODY', 'role is for operator tokens only.');
  return null;
}

/** The kind of token each restriction is for, as checked by the feature that accepts the token. */
const RESTRICTIONS = { lanes: 'worker', tags: 'device-enrolment', reEnrol: 'device-enrolment' } as const;

function restrictionOf(body: NewToken) {
  const fields = (Object.keys(RESTRICTIONS) as (keyof typeof RESTRICTIONS)[]).filter(
    (field) => body[field] !== undefined,
  );
  for (const field of fields)
    if (body.kind !== RESTRICTIONS[field])
      throw httpError('MUSTER_BAD_BODY', `${field} is for ${RESTRICTIONS[field]} tokens only.`);
  return fields.length > 0 ? Object.fromEntries(fields.map((field) => [field, body[field]])) : null;
}

function target(token: TokenRow): string {
  return `token ${token.tokenId}`;
}

function view(token: TokenRow) {
  return {
    id: token.tokenId,
    kind: token.kind,
    role: token.role ?? undefined,
    name: token.name,
    restriction: token.restriction ?? undefined,
    createdAt: token.createdAt,
    createdBy: token.createdBy,
    replaces: token.replaces ?? undefined,
    firstUsedAt: token.firstUsedAt ?? undefined,
    revokedAt: token.revokedAt ?? undefined,
  };
}
