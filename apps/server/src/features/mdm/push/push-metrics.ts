import type { PushOutcome } from '@muster/mdm';
import { Counter, type Registry } from 'prom-client';
import { remembered } from '../../../metrics/children.ts';

export interface PushMetrics {
  count(app: 'mdm' | 'message', outcome: PushOutcome): void;
}

export function createPushMetrics(registry: Registry): PushMetrics {
  const pushes = new Counter({
    name: 'muster_pushes_total',
    help: 'Pushes to APNs, by purpose and outcome.',
    labelNames: ['app', 'outcome'],
    registers: [registry],
  });
  const child = remembered((...labels) => pushes.labels(...labels));
  return { count: (app, { kind }) => child(app, kind).inc() };
}
