import { type Config, readSettings } from '../config.ts';

export interface TraceSettings {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** How many of all actions, from 0 to 1. */
  readonly share: number;
}

const NAMES = [
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_HEADERS',
  'OTEL_TRACES_SAMPLER_ARG',
] as const;
type Settings = Pick<Config, (typeof NAMES)[number]>;

/** For programs that need no other setting of the server. */
export const readTraceSettings = (environment?: Record<string, string | undefined>) =>
  traceSettings(readSettings(NAMES, environment));

/** Null: traces are off. */
export function traceSettings(config: Settings): TraceSettings | null {
  const endpoint = config.OTEL_EXPORTER_OTLP_ENDPOINT;
  if (endpoint === null) return null;
  return {
    url: `${endpoint}/v1/traces`,
    headers: config.OTEL_EXPORTER_OTLP_HEADERS ?? {},
    share: config.OTEL_TRACES_SAMPLER_ARG,
  };
}
