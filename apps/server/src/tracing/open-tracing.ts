import { hostname } from 'node:os';
import type { Config } from '../config.ts';
import type { Log } from '../http/logging.ts';
import { VERSION } from '../http/version.ts';
import { traceSettings } from './settings.ts';
import type { Tracing } from './tracing.ts';

/** Null: traces are off, and nothing of them is loaded. */
export async function openTracing(config: Config, log: Log): Promise<Tracing | null> {
  const settings = traceSettings(config);
  if (!settings) return null;
  const [{ openTracer }, { Tracing }] = await Promise.all([import('./tracer.ts'), import('./tracing.ts')]);
  const of = { service: 'muster', version: VERSION, instance: `${hostname()}:${process.pid}` };
  const tracer = openTracer(settings, of, (sentence) => log.warn(`Traces could not be sent: ${sentence}.`));
  return new Tracing(tracer, settings.share);
}
