import { api } from '@muster/contracts';
import type { Database } from '@muster/engine';
import type { Audit } from '../../../audit/audit.ts';
import { operators, operatorsByBasic } from '../../../http/access.ts';
import { bytesOf } from '../../../http/bytes-body.ts';
import { defineRoute, type Route } from '../../../http/define-route.ts';
import type { Certificates } from './certificates.ts';
import type { Providers } from './providers.ts';
import type { Topics } from './topics.ts';

const SOON_DAYS = 30;

/** Renews a push certificate, yearly and without a restart, by NanoMDM's route. */
export function certificateRoute(
  audit: Audit,
  certificates: Certificates,
  { db, topics, now }: { db: Database; topics: Topics; now: () => Date },
): Route {
  async function warningsOf(tenantId: number, topic: string, notAfter: Date): Promise<string[]> {
    const others = await topics.othersOfPhones(db, tenantId, topic);
    const days = Math.floor((notAfter.getTime() - now().getTime()) / 86_400_000);
    return [
      ...(others > 0
        ? [
            `${others} enrolled phones have another topic: this certificate does not wake them. They must enrol again.`,
          ]
        : []),
      ...(days < SOON_DAYS ? [`It expires in ${Math.max(0, days)} days.`] : []),
    ];
  }

  return defineRoute(api.push.putCertificate, {
    access: operatorsByBasic('admin'),
    async handler({ caller, request }) {
      const text = bytesOf(request.body).toString('latin1');
      const { topic, notAfter } = await audit.change(
        caller,
        (tx) => certificates.put(tx, caller.tenantId, text),
        (put) => ({
          act: 'certificate.renew',
          target: put.topic,
          detail: { notAfter: put.notAfter.toISOString() },
        }),
      );
      const warnings = await warningsOf(caller.tenantId, topic, notAfter);
      for (const warning of warnings) request.log.warn({ reqId: request.id, topic }, warning);
      return { topic, not_after: notAfter.toISOString(), ...(warnings.length > 0 ? { warnings } : {}) };
    },
  });
}

/** Until when phones can be woken up, and whether anything is wrong. */
export function certificatesRoute(db: Database, providers: Providers, topics: Topics): Route {
  return defineRoute(api.push.certificates, {
    access: operators('viewer'),
    async handler({ caller: { tenantId } }) {
      const all = await topics.ofTenant(db, tenantId);
      return {
        certificates: all.map((one) => ({
          topic: one.topic,
          own: one.certificate !== null,
          notAfter: providers.notAfter(one)?.toISOString() ?? null,
          stopReason: one.stopReason,
        })),
      };
    },
  });
}
