import { PassThrough } from 'node:stream';
import { api } from '@muster/contracts';
import type { Database } from '@muster/engine';
import type { Audit } from '../../audit/audit.ts';
import type { MusterError } from '../../errors.ts';
import { operators } from '../../http/access.ts';
import { defineRoute, type Route } from '../../http/define-route.ts';
import type { Log } from '../../http/logging.ts';
import { drain, type UnreadLimits } from '../../http/unread-body.ts';
import { deviceError } from '../errors.ts';
import type { Registry } from '../registry.ts';
import { BrokenUpload } from './broken-upload.ts';
import { type ImportLine, importDevices } from './import-devices.ts';
import { csvRecords, decoded, jsonRecords, type RawRecord, readFirst } from './records.ts';
import { asText, writeLines } from './write-lines.ts';

const CSV = 'text/csv';

/** Many clients send everything before they read: this much of the answer is buffered for them. */
const KEPT_BYTES = 1_048_576;

/** How much more of an unreadable upload is accepted. */
const AFTER_THE_END: UnreadLimits = { bytes: 67_108_864, ms: 60_000 };

export function importRoute(tools: { audit: Audit; db: Database; log: Log; registry: Registry }): Route {
  const { audit, db, log, registry } = tools;
  /** Tenants with an import at this node: concurrent imports of one tenant would only compete for memory and time. */
  const importing = new Map<number, PassThrough>();
  return defineRoute(api.devices.import, {
    access: operators('operator'),
    async handler({ caller, request, reply }) {
      const { tenantId } = caller;
      if (importing.has(tenantId)) {
        reply.header('connection', 'close'); // the body is not read
        throw deviceError(
          'MUSTER_IMPORT_RUNNING',
          'Another import of this tenant is running at this node. Wait until it has ended.',
        );
      }
      const owner = { tenantId, by: caller.name };
      const isCsv = (request.headers['content-type'] ?? '').toLowerCase().startsWith(CSV);
      const text = decoded(request.raw.iterator({ destroyOnReturn: false }));
      const answer = new PassThrough({ highWaterMark: KEPT_BYTES });
      const done = { accepted: 0, rejected: 0 };
      const count = (line: ImportLine) => {
        if ('error' in line) done.rejected += 1;
        else done.accepted += 1;
      };
      const work = async (
        records: AsyncGenerator<RawRecord>,
        complete: (outcome: unknown) => Promise<void>,
      ) => {
        try {
          const chunks = importDevices(db, registry, owner, records);
          if (!(await writeLines(chunks, answer, count))) answer.destroy();
        } catch (error) {
          const line = asLine(error, request.raw.aborted);
          count(line);
          answer.write(asText(line));
          if (!(error instanceof BrokenUpload) && !request.raw.aborted)
            log.warn({ err: error }, 'An import did not finish.');
        }
        await complete(done);
      };
      importing.set(tenantId, answer);
      const isOver = () => {
        if (importing.get(tenantId) === answer) importing.delete(tenantId);
      };
      // A client that was cut off sends its upload again, perhaps before the last rows of the first are stored.
      reply.raw.once('close', isOver);
      const finish = async () => {
        isOver();
        // An unread body blocks the next request of the connection; a client that sends everything first may finish.
        const isRead = await drain(request.raw, AFTER_THE_END);
        if (!isRead) reply.raw.once('finish', () => request.raw.socket.destroySoon());
        answer.end(); // last: a client that has read it may send its next upload
      };
      try {
        const records = await readFirst(isCsv ? csvRecords(text) : jsonRecords(text));
        const complete = await audit.begin(caller, { act: 'device.import', target: 'devices' });
        void work(records, complete)
          .catch((error) =>
            log.error({ err: error }, 'The end of an import could not be written to the audit log.'),
          )
          .then(finish);
      } catch (error) {
        const refused = whyRefused(error);
        if (!refused) {
          isOver();
          throw error;
        }
        answer.write(JSON.stringify({ error: refused.message, code: refused.code }));
        void finish();
        return reply.code(refused.status).type('application/json').send(answer);
      }
      return reply.type('application/x-ndjson').send(answer);
    },
  });
}

/** Undefined: the upload is not at fault. */
function whyRefused(error: unknown): MusterError | undefined {
  if (!(error instanceof BrokenUpload) && !(error instanceof TypeError)) return undefined;
  return deviceError('MUSTER_BAD_UPLOAD', asLine(error, false).error);
}

/** Lines already answered stand; nothing after them was registered. */
function asLine(error: unknown, aborted: boolean): { line: number; error: string } {
  if (error instanceof BrokenUpload) return { line: error.line, error: error.message };
  if (error instanceof TypeError) return { line: 0, error: 'The upload is not valid UTF-8.' };
  return {
    line: 0,
    error: aborted
      ? 'The upload was interrupted. Send it again.'
      : 'The import could not continue. Send the upload again.',
  };
}
