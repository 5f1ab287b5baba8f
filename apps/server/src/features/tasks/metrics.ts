import type { ClaimedAction } from '@muster/engine';
import { Counter, Histogram, type Registry } from 'prom-client';

/** Metrics of runners, by tenant; never by PC or device. */
export type Metrics = ReturnType<typeof createMetrics>;

const WAITS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.5, 1, 2.5, 5, 10, 15, 20, 25];
const DURATIONS = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 600, 900, 1_200, 3_600];

export function createMetrics(registry: Registry) {
  const registers = [registry];
  const claims = new Counter({
    name: 'muster_task_claims_total',
    help: 'Claims of runners, by whether they returned work.',
    labelNames: ['tenant', 'outcome'] as const,
    registers,
  });
  const waits = new Histogram({
    name: 'muster_task_claim_wait_seconds',
    help: 'How long claims took.',
    labelNames: ['tenant'] as const,
    buckets: WAITS,
    registers,
  });
  const handedOut = new Counter({
    name: 'muster_task_devices_handed_out_total',
    help: 'Attempts handed out to runners, by whether they are the first for their device.',
    labelNames: ['tenant', 'attempt'] as const,
    registers,
  });
  const processing = new Histogram({
    name: 'muster_task_processing_seconds',
    help: 'Time from handed out to reported.',
    labelNames: ['tenant', 'status'] as const,
    buckets: DURATIONS,
    registers,
  });

  return {
    claimed(tenantId: number, actions: readonly ClaimedAction[], seconds: number): void {
      const tenant = String(tenantId);
      claims.inc({ tenant, outcome: actions.length > 0 ? 'work' : 'empty' });
      waits.observe({ tenant }, seconds);
      for (const { attempt } of actions)
        handedOut.inc({ tenant, attempt: attempt === 1 ? 'first' : 'further' });
    },

    reported(tenantId: number, status: string, handedOutAt: Date, now: number): void {
      processing.observe(
        { tenant: String(tenantId), status },
        Math.max(0, now - handedOutAt.getTime()) / 1_000,
      );
    },
  };
}
