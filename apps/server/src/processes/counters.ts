import { AggregatorRegistry, type Registry } from 'prom-client';
import type { Metrics } from './messages.ts';

/** Prometheus takes a falling counter for one that was reset, and counts all of it again. */
export function split(metrics: Metrics): { counters: Metrics; gauges: Metrics } {
  const counters = metrics.filter(isCounter);
  return { counters, gauges: metrics.filter((one) => !counters.includes(one)) };
}

/** Two reads of one process: which was first is unknown, but counters only grow. */
export const latest = (one: Metrics, other: Metrics): Metrics => joined('max', one, other);

/** Of several processes. */
export const sum = (one: Metrics, other: Metrics): Metrics => joined('sum', one, other);

function joined(aggregator: 'max' | 'sum', ...several: Metrics[]): Metrics {
  const registry: Registry = AggregatorRegistry.aggregate(
    several.map((metrics) => metrics.map((metric) => ({ ...metric, aggregator }))),
  );
  // its elements have their values, which the type does not say
  const all = registry.getMetricsAsArray() as unknown as Metrics;
  return all.map(({ help, name, type, values }) => ({ help, name, type, values, aggregator: 'sum' }));
}

// a string, although the type says a number
const isCounter = ({ type }: Metrics[number]) => ['counter', 'histogram'].includes(String(type));
