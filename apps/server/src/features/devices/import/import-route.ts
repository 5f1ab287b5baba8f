import { PassThrough } from 'node:stream';
import type { Database } from '@muster/engine';
import { z } from 'zod';
import { type Audit, by } from '../../../audit/audit.ts';
import type { Log } from '../../../feature.ts';
import { operators } from '../../../http/access.ts';
import { defineRoute, type Route } from '../../../http/define-route.ts';
import type { Registry } from '../registry.ts';
import { BrokenUpload } from './broken-upload.ts';
import { type ImportLine, importDevices } from './import-devices.ts';
import { csvRecords, decoded, jsonRecords } from './records.ts';

const CSV = 'text/csv';
const JSON_LINES = ['application/x-ndjson', 'application/jsonl', 'application/json-lines'];

export function importRoute(tools: { audit: Audit; db: Database; log: Log; registry: Registry }): Route {
  const { audit, db, log, registry } = tools;
  return defineRoute({
    method: 'POST',
    path: '/api/devices/import',
    access: operators('operator'),
    summary: 'Register a fleet: CSV with a header, or a JSON object per line; one line is answered per row',
    streams: [CSV, ...JSON_LINES],
    produces: 'application/x-ndjson',
    responses: {
      200: {
        description: 'A line per row: {line, id, deviceToken?} or {line, error}. Send a broken upload again.',
        schema: z.string(),
      },
    },
    async handler({ caller, request, reply }) {
      const owner = { tenantId: caller.tenantId, by: caller.name };
      const isCsv = (request.headers['content-type'] ?? '').toLowerCase().startsWith(CSV);
      const text = decoded(request.raw);
      const records = isCsv ? csvRecords(text) : jsonRecords(text);
      // Not held back by a slow reader: many clients send everything before they read anything, and would wait for ever.
      const answer = new PassThrough({ highWaterMark: Number.MAX_SAFE_INTEGER });
      const audited = await audit.write(db, { ...by(caller), act: 'import', target: 'devices' });
      const done = { accepted: 0, rejected: 0 };
      const write = (line: ImportLine) => {
        if ('error' in line) done.rejected += 1;
        else done.accepted += 1;
        answer.write(`${JSON.stringify(line)}\n`);
      };
      const work = async () => {
        try {
          for await (const lines of importDevices(db, registry, owner, records)) lines.forEach(write);
        } catch (error) {
          write(asLine(error, request.raw.aborted));
          if (!(error instanceof BrokenUpload) && !request.raw.aborted)
            log.warn({ err: error }, 'An import did not come to its end.');
        }
        answer.end();
        await audit.complete(db, caller.tenantId, audited, done);
      };
      work().catch((error) => log.error({ err: error }, 'The end of an import is not in the audit log.'));
      return reply.type('application/x-ndjson').send(answer);
    },
  });
}

/** What was answered before stands; from here on nothing was registered. */
function asLine(error: unknown, aborted: boolean): ImportLine {
  if (error instanceof BrokenUpload) return { line: error.line, error: error.message };
  if (error instanceof TypeError) return { line: 0, error: 'The upload is not valid UTF-8.' };
  return {
    line: 0,
    error: aborted
      ? 'The upload broke off. Send it again.'
      : 'The import could not go on. Send the upload again.',
  };
}
