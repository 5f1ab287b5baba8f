import type { FastifyRequest } from 'fastify';
import { type Logger, pino } from 'pino';
import type { Config } from '../config.ts';
import { reasonOf } from '../database/reason.ts';
import { isDatabaseAway } from './database-away.ts';
import { textLine } from './text-lines.ts';

export type Log = Pick<Logger, 'debug' | 'error' | 'fatal' | 'info' | 'warn'>;

export interface LogStream {
  write(line: string): unknown;
  /** A person reads it. */
  readonly isTTY?: boolean;
}

type LogFormat = Config['MUSTER_LOG_FORMAT'];

export const isText = (format: LogFormat, { isTTY = false }: LogStream): boolean =>
  format === 'text' || (format === 'auto' && isTTY);

/**
 * Structured lines, one JSON object each, or text for people. Only harmless parts of a request are logged. People have seen
 * the address at the start, so the level `auto` shows them only what needs attention.
 */
export function createLog(level: string, stream: LogStream, format: LogFormat = 'auto'): Logger {
  const isForPeople = isText(format, stream);
  return pino(
    {
      level: level !== 'auto' ? level : isForPeople ? 'warn' : 'info',
      // None of these is logged today; this guards lines that are added later.
      redact: {
        paths: ['authorization', 'cookie', 'token', 'secret', 'password'].flatMap((name) => [
          name,
          `*.${name}`,
          `*.headers.${name}`,
        ]),
        censor: '[secret]',
      },
      serializers: {
        err: (error: Error) =>
          // twenty a second during an outage, and no stack says why
          isDatabaseAway(error)
            ? { type: error.name, message: reasonOf(error) }
            : pino.stdSerializers.err(error),
        req: (request: FastifyRequest) => ({
          id: request.id,
          method: request.method,
          url: request.url,
          remoteAddress: request.ip,
        }),
        res: (reply: { statusCode: number }) => ({ status: reply.statusCode }),
      },
    },
    (isForPeople ? { write: (line: string) => stream.write(textLine(line)) } : stream) as never,
  );
}

/** For Fastify, whose line per address says less than the one line of ours. */
export const withoutInfo = (log: Log): Log => Object.create(log, { info: { value: () => {} } });

/** For what tries again every few seconds: an outage has its own lines (`background-errors.ts`). */
export const warnUnlessAway = (error: unknown) => (isDatabaseAway(error) ? 'debug' : 'warn');
