import type { FastifyRequest } from 'fastify';
import { type Logger, pino } from 'pino';

export type Log = Pick<Logger, 'debug' | 'error' | 'fatal' | 'info' | 'warn'>;

/** Structured lines, one JSON object each. Only harmless parts of a request are logged. */
export interface LogStream {
  write(line: string): unknown;
}

export function createLog(level: string, stream: LogStream): Logger {
  return pino(
    {
      level,
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
        err: pino.stdSerializers.err,
        req: (request: FastifyRequest) => ({
          id: request.id,
          method: request.method,
          url: request.url,
          remoteAddress: request.ip,
        }),
        res: (reply: { statusCode: number }) => ({ status: reply.statusCode }),
      },
    },
    stream as never,
  );
}
