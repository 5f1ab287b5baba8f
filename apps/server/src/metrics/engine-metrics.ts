import type { EventType, Observer, Transition } from '@muster/engine';
import { Counter, Histogram, type Registry } from 'prom-client';
import { remembered } from './children.ts';

/** Events of the engine, counted by tenant and channel, never by lane. */
const BY_EVENT: Partial<Record<EventType, { name: string; help: string }>> = {
  CREATED: { name: 'muster_enqueued_total', help: 'Actions queued.' },
  SENT: { name: 'muster_claims_total', help: 'Actions handed out, each attempt once.' },
  REDELIVERED: { name: 'muster_redelivered_total', help: 'Attempts handed out again to their holder.' },
  RETRY_SCHEDULED: {
    name: 'muster_retries_total',
    help: 'Failed or timed-out attempts that will be retried.',
  },
  FAILED_FINAL: { name: 'muster_dead_total', help: 'Actions that failed for good.' },
  TIMEOUT: { name: 'muster_lease_ends_total', help: 'Leases that ended without a report.' },
  RELEASED: { name: 'muster_released_total', help: 'Attempts released before they started.' },
  CANCELLED: { name: 'muster_cancelled_total', help: 'Actions cancelled.' },
  EXPIRED: { name: 'muster_expired_total', help: 'Actions not handed out in time.' },
  REDRIVEN: { name: 'muster_redriven_total', help: 'Dead letters redriven.' },
};
const REPORTS: Partial<Record<EventType, string>> = {
  SUCCEEDED: 'succeeded',
  FAILED: 'failed',
  NOT_NOW: 'notNow',
};

const STATEMENT_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const BATCH_SIZES = [1, 2, 5, 10, 20, 50, 100, 200, 500];

export function observeEngine(registry: Registry): Observer {
  const registers = [registry];
  const labelNames = ['tenant', 'channel'];
  const counters = new Map(
    Object.entries(BY_EVENT).map(([event, { name, help }]) => {
      const counter = new Counter({ name, help, labelNames, registers });
      return [event, remembered((tenant, channel) => counter.labels(tenant as string, channel as string))];
    }),
  );
  const reportsTotal = new Counter({
    name: 'muster_reports_total',
    help: 'Reports that counted, by outcome.',
    labelNames: [...labelNames, 'outcome'],
    registers,
  });
  const reports = remembered((...labels) => reportsTotal.labels(...labels));
  const lateTotal = new Counter({
    name: 'muster_late_total',
    help: 'Reports that were too late and changed nothing.',
    labelNames: ['tenant'],
    registers,
  });
  const statement = new Histogram({
    name: 'muster_statement_seconds',
    help: 'How long a gathered statement took, by operation.',
    labelNames: ['operation'],
    buckets: STATEMENT_SECONDS,
    registers,
  });
  const statements = remembered((operation) => statement.labels(operation as string));
  const batch = new Histogram({
    name: 'muster_batch_size',
    help: 'How many calls shared a statement, by operation.',
    labelNames: ['operation'],
    buckets: BATCH_SIZES,
    registers,
  });
  const batches = remembered((operation) => batch.labels(operation as string));
  const duty = new Histogram({
    name: 'muster_duty_seconds',
    help: 'How long a run of a housekeeping duty took.',
    labelNames: ['duty'],
    buckets: STATEMENT_SECONDS,
    registers,
  });
  const handled = new Counter({
    name: 'muster_duty_handled_total',
    help: 'Items processed by housekeeping duties.',
    labelNames: ['duty'],
    registers,
  });

  function count(transition: Transition): void {
    const tenant = String(transition.tenantId);
    for (const event of transition.events) {
      counters.get(event)?.(tenant, transition.channel).inc();
      const outcome = REPORTS[event];
      if (outcome) reports(tenant, transition.channel, outcome).inc();
    }
  }

  return {
    batch(operation, size, seconds) {
      batches(operation).observe(size);
      statements(operation).observe(seconds);
    },
    duty(name, n, seconds) {
      duty.labels(name).observe(seconds);
      if (n > 0) handled.labels(name).inc(n);
    },
    late: (tenantId) => lateTotal.labels(String(tenantId)).inc(),
    transitions: (transitions) => transitions.forEach(count),
  };
}
