import { Histogram, type Registry } from 'prom-client';
import { remembered } from './children.ts';

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Every answered request by its route, not its path: paths contain lanes and ids. Long polls include their wait. */
export function observeHttp(registry: Registry) {
  const histogram = new Histogram({
    name: 'muster_http_request_seconds',
    help: 'How long a request took, by method, route and status, including the wait of long polls.',
    labelNames: ['method', 'route', 'status'],
    buckets: SECONDS,
    registers: [registry],
  });
  const children = remembered((...labels) => histogram.labels(...labels));
  return (route: string, method: string, status: number, seconds: number): void =>
    children(method, route, String(status)).observe(seconds);
}
