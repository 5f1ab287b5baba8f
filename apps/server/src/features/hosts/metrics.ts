import type { ClaimedAction } from '@muster/engine';
import { Counter, Histogram, type Registry } from 'prom-client';

/** Metrics of polls, by tenant; never by host or lane, of which there may be a hundred thousand. */
export type Metrics = ReturnType<typeof createMetrics>;

const WAITS = [0.005, 0.05, 0.5, 1, 2.5, 5, 10, 15, 20, 25];
const LATENCIES = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5, 30, 300, 3_600, 86_400];
const DURATIONS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600];

export function createMetrics(registry: Registry) {
  const registers = [registry];
  const labelNames = ['tenant'] as const;
  const polls = new Counter({
    name: 'muster_control_polls_total',
    help: 'Polls of agents, by whether they returned actions.',
    labelNames: ['tenant', 'outcome'] as const,
    registers,
  });
  const waits = new Histogram({
    name: 'muster_control_poll_wait_seconds',
    help: 'How long polls took.',
    labelNames,
    buckets: WAITS,
    registers,
  });
  const handOuts = new Histogram({
    name: 'muster_control_hand_out_seconds',
    help: 'Time from queued to handed out, first attempts only.',
    labelNames,
    buckets: LATENCIES,
    registers,
  });
  const processing = new Histogram({
    name: 'muster_control_processing_seconds',
    help: 'Time from handed out to reported.',
    labelNames: ['tenant', 'status'] as const,
    buckets: DURATIONS,
    registers,
  });

  return {
    polled(tenantId: number, claimed: readonly ClaimedAction[], seconds: number): void {
      const tenant = String(tenantId);
      polls.inc({ tenant, outcome: claimed.length > 0 ? 'actions' : 'empty' });
      waits.observe({ tenant }, seconds);
      for (const { attempt, createdAt, leasedAt } of claimed)
        if (attempt === 1)
          handOuts.observe({ tenant }, Math.max(0, leasedAt.getTime() - createdAt.getTime()) / 1_000);
    },

    reported(tenantId: number, status: string, handedOutAt: Date, now: Date): void {
      processing.observe(
        { tenant: String(tenantId), status },
        Math.max(0, now.getTime() - handedOutAt.getTime()) / 1_000,
      );
    },
  };
}
