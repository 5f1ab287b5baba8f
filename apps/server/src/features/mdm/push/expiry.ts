import { type Database, type Duty, dutyRun, whileLocked } from '@muster/engine';
import { Gauge, type Registry } from 'prom-client';
import type { Alerts } from '../../../alerts/alerts.ts';
import type { Log } from '../../../http/logging.ts';
import type { Providers } from './providers.ts';
import type { Topics } from './topics.ts';

interface Options {
  readonly alerts: Alerts;
  readonly db: Database;
  readonly log: Log;
  readonly now: () => Date;
  readonly providers: Providers;
  readonly registry: Registry;
  readonly topics: Topics;
}

const DAY_MS = 86_400_000;
/** Alerts are raised this many days before a certificate expires: a renewal takes a person and an Apple account. */
const WARNINGS = [0, 1, 7, 30];
const HOUR_MS = 3_600_000;

/** Push certificates expire yearly, and with them all pushes: shown in the metrics, with alerts in time. */
export function watchExpiry({ alerts, db, log, now, providers, registry, topics }: Options): Duty {
  new Gauge({
    aggregator: 'max', // the same in every process
    name: 'muster_push_certificate_not_after_seconds',
    help: 'When the push certificate of a topic expires, in seconds since 1970.',
    labelNames: ['tenant', 'topic'],
    registers: [registry],
    async collect() {
      this.reset();
      try {
        for (const topic of await topics.list(db)) {
          const notAfter = providers.notAfter(topic);
          if (notAfter) this.labels(String(topic.tenantId), topic.topic).set(notAfter.getTime() / 1_000);
        }
      } catch (error) {
        log.warn({ err: error }, 'Push certificates could not be read for /metrics.');
      }
    },
  });
  new Gauge({
    aggregator: 'max', // the same in every process
    name: 'muster_pushes_stopped',
    help: 'Whether pushes of a topic are stopped because of a configuration problem.',
    labelNames: ['tenant', 'topic'],
    registers: [registry],
    async collect() {
      this.reset();
      const all = await topics.list(db).catch(() => []); // logged above
      for (const { tenantId, topic, stopReason } of all)
        this.labels(String(tenantId), topic).set(stopReason === null ? 0 : 1);
    },
  });

  return {
    name: 'warn-of-push-certificates',
    everyMs: HOUR_MS,
    isOutside: true,
    async runOnce(client) {
      let count = 0;
      for (const topic of await topics.list(client)) {
        const notAfter = providers.notAfter(topic);
        const left = notAfter ? (notAfter.getTime() - now().getTime()) / DAY_MS : null;
        const days = left === null ? undefined : WARNINGS.find((one) => left <= one);
        if (
          !notAfter ||
          days === undefined ||
          (topic.warnedOf?.getTime() === notAfter.getTime() && topic.warnedDays === days)
        )
          continue;
        await whileLocked(db, async (tx) => {
          if (!(await topics.warn(tx, topic, days, notAfter))) return;
          count += 1;
          const when = days === 0 ? 'has ended' : `ends within ${days === 1 ? 'a day' : `${days} days`}`;
          await alerts.raise(tx, {
            tenantId: topic.tenantId,
            name: 'push.certificate-ends',
            text: `The push certificate for ${topic.topic} ${when} (${notAfter.toISOString()}). Renew it with the same Apple Account, or every device must enrol again.`,
            data: { topic: topic.topic, notAfter: notAfter.toISOString(), days },
          });
        });
      }
      return dutyRun(count, Number.POSITIVE_INFINITY);
    },
  };
}
