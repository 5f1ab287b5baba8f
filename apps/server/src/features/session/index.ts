import { api } from '@muster/contracts';
import type { CreateFeature } from '../../feature.ts';
import { anybody, operators, operatorsWithToken } from '../../http/access.ts';
import { findSignIn } from '../../http/auth.ts';
import { defineRoute } from '../../http/define-route.ts';
import { created, gone } from '../../http/replies.ts';
import { sessionCookies, setSessionCookie } from '../../http/session-cookie.ts';
import { VERSION } from '../../http/version.ts';
import { createTenantQueries } from '../../tenants/queries.ts';
import type { SignedIn } from '../../tokens/sign-ins.ts';

/**
 * Signing in and out. The token is sent as with any other request, so the same rule and the same limit of failures
 * apply.
 */
export const session: CreateFeature = ({ audit, db, engine, failures, featureNames, signIns }) => {
  const tenants = createTenantQueries(engine.schema);

  async function wire({ caller, signedInAt, endsAt }: Omit<SignedIn, 'signInId'>) {
    const tenant = await tenants.get(db, caller.tenantId);
    return {
      tenant: { id: String(caller.tenantId), name: tenant?.name ?? String(caller.tenantId) },
      role: caller.role as NonNullable<typeof caller.role>, // operators have one
      name: caller.name,
      signedInAt: signedInAt.toISOString(),
      endsAt: endsAt.toISOString(),
    };
  }

  return {
    name: 'session',
    routes: [
      defineRoute(api.session.create, {
        access: operatorsWithToken('viewer'),
        async handler({ caller, request, reply }) {
          const { secret, signedInAt, endsAt } = await audit.change(
            caller,
            (tx) => signIns.create(tx, caller),
            ({ signInId }) => ({ act: 'session.create', target: `session ${signInId}` }),
          );
          const seconds = Math.floor((endsAt.getTime() - signedInAt.getTime()) / 1_000);
          setSessionCookie(request, reply, caller.tenantId, { secret, seconds });
          created(reply);
          return wire({ caller, signedInAt, endsAt });
        },
      }),

      defineRoute(api.session.list, {
        access: anybody,
        async handler({ request, reply }) {
          const found: SignedIn[] = [];
          for (const [tenantId, secret] of sessionCookies(request)) {
            const signedIn = await findSignIn(request, secret, { failures, signIns });
            if (signedIn?.caller.tenantId === tenantId) found.push(signedIn);
            else setSessionCookie(request, reply, tenantId, null);
          }
          found.sort((a, b) => a.caller.tenantId - b.caller.tenantId);
          reply.header('cache-control', 'no-store');
          return {
            signIns: await Promise.all(found.map(wire)),
            now: engine.now(),
            version: VERSION,
            features: featureNames(),
          };
        },
      }),

      defineRoute(api.session.remove, {
        access: operators('viewer'),
        async handler({ caller, request, reply }) {
          const signedIn = request.session === null ? null : await signIns.find(request.session);
          if (signedIn)
            await audit.change(caller, (tx) => signIns.remove(tx, caller.tenantId, signedIn.signInId), {
              act: 'session.delete',
              target: `session ${signedIn.signInId}`,
            });
          setSessionCookie(request, reply, caller.tenantId, null);
          return gone(reply);
        },
      }),
    ],
  };
};
