import { AggregatorRegistry, type Registry } from 'prom-client';
import type { Metrics } from './messages.ts';

/** A monitor takes a counter that falls for one that began anew, and counts all of it again. */
export function split(metrics: Metrics): { counters: Metrics; gauges: Metrics } {
  const counters = metrics.filter(isCounter);
  return { counters, gauges: metrics.filter((one) => !counters.includes(one)) };
}

/** Of one process, told twice: which of the two was read first is not known, and a counter only grows. */
export const latest = (one: Metrics, other: Metrics): Metrics => joined('max', one, other);

/** Of several processes. */
export const sum = (one: Metrics, other: Metrics): Metrics => joined('sum', one, other);

function joined(aggregator: 'max' | 'sum', ...several: Metrics[]): Metrics {
  const registry: Registry = AggregatorRegistry.aggregate(
    several.map((metrics) => metrics.map((metric) => ({ ...metric, aggregator }))),
  );
  // what it is made of has its values at hand, which its type does not say
  const all = registry.getMetricsAsArray() as unknown as Metrics;
  return all.map(({ help, name, type, values }) => ({ help, name, type, values, aggregator: 'sum' }));
}

// a word, though its type says a number
const isCounter = ({ type }: Metrics[number]) => ['counter', 'histogram'].includes(String(type));
