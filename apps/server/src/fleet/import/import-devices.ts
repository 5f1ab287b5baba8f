import { newDevice, time } from '@muster/contracts';
import { type Database, whileLocked } from '@muster/engine';
import { z } from 'zod';
import { IN_RANGE, isInRange } from '../../http/time-range.ts';
import type { Registered, Registration, Registry } from '../registry.ts';
import { WHOLE_FLEET } from '../whole-fleet.ts';
import { BrokenUpload } from './broken-upload.ts';
import type { RawRecord } from './records.ts';

/**
 * Registers a fleet from an upload, a thousand rows per transaction. A row whose externalId is known updates its
 * device, so an upload that broke off is simply sent again; its devices get new tokens then, and the old ones stay
 * valid until the new ones are used.
 */
const CHUNK = 1_000;
const MOST_ROWS = 1_000_000;

const row = z.strictObject({
  ...newDevice.shape,
  expiresAt: time.refine(isInRange, { error: `must be ${IN_RANGE}` }).optional(),
  tokenSha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/i)
    .optional(),
});

export type ImportLine =
  | { readonly line: number; readonly id: string; readonly deviceToken?: string }
  | { readonly line: number; readonly error: string };

interface Wanted {
  readonly line: number;
  readonly registration: Registration;
}

const REFUSALS = {
  EXISTS: 'A device with this externalId already exists.',
  RACED: 'Another request registered this externalId at the same moment. Send the row again.',
  UNKNOWN_PC: 'There is no PC with this pcId.',
  TOKEN_TAKEN: 'This tokenSha256 is or was already in use.',
} satisfies Record<Extract<Registered, { refused: string }>['refused'], string>;

export async function* importDevices(
  db: Database,
  registry: Registry,
  owner: { tenantId: number; by: string },
  records: AsyncIterable<RawRecord>,
): AsyncGenerator<ImportLine[]> {
  let wanted: Wanted[] = [];
  let rejected: ImportLine[] = [];
  let externalIds = new Set<string>();
  let count = 0;

  async function flush(): Promise<ImportLine[]> {
    const answers = await register(db, registry, owner, wanted);
    const lines = [...answers, ...rejected].sort((a, b) => a.line - b.line);
    wanted = [];
    rejected = [];
    externalIds = new Set();
    return lines;
  }

  try {
    for await (const record of records) {
      count += 1;
      if (count > MOST_ROWS)
        throw new BrokenUpload(record.line, `An import can have at most ${MOST_ROWS} rows.`);
      const read = readRow(record);
      if ('error' in read) rejected.push(read);
      else {
        const { externalId } = read.registration;
        // The second of two equal ones updates the device that the first created.
        if (externalId !== undefined && externalIds.has(externalId)) yield await flush();
        if (externalId !== undefined) externalIds.add(externalId);
        wanted.push(read);
      }
      if (wanted.length + rejected.length >= CHUNK) yield await flush();
    }
  } catch (error) {
    yield await flush();
    throw error;
  }
  yield await flush();
}

async function register(
  db: Database,
  registry: Registry,
  { tenantId, by }: { tenantId: number; by: string },
  wanted: readonly Wanted[],
): Promise<ImportLine[]> {
  if (wanted.length === 0) return [];
  const registrations = wanted.map(({ registration }) => registration);
  const answers = await whileLocked(
    db,
    (tx) => registry.register(tx, { tenantId, by, known: 'update' }, registrations),
    WHOLE_FLEET,
  );
  return wanted.map(({ line }, n) => {
    const answer = answers[n] as Registered;
    if ('refused' in answer) return { line, error: REFUSALS[answer.refused] };
    return {
      line,
      id: answer.deviceId,
      ...(answer.deviceToken === null ? {} : { deviceToken: answer.deviceToken }),
    };
  });
}

function readRow({ line, fields, error }: RawRecord): Wanted | { line: number; error: string } {
  if (!fields) return { line, error: error ?? 'The line cannot be read.' };
  const parsed = row.safeParse(fields);
  if (!parsed.success) return { line, error: sentence(parsed.error) };
  const { tokenSha256, expiresAt, ...rest } = parsed.data;
  if (!isStorable(parsed.data)) return { line, error: 'A field contains a character that cannot be stored.' };
  return {
    line,
    registration: {
      ...rest,
      expiresAt: expiresAt === undefined ? undefined : new Date(expiresAt),
      tokenSha256: tokenSha256 === undefined ? undefined : Buffer.from(tokenSha256, 'hex'),
    },
  };
}

function sentence({ issues: [issue] }: z.ZodError): string {
  const field = issue?.path.join('.') ?? '';
  switch (issue?.code) {
    case 'unrecognized_keys':
      return `Unknown field ${JSON.stringify(issue.keys[0])}.`;
    case 'invalid_type':
      return `${field} is missing or has the wrong type.`;
    case 'invalid_format':
      return `${field} has the wrong form.`;
    case 'custom':
      return `${field} ${issue.message}.`;
    default:
      return `${field} is invalid.`;
  }
}

function isStorable(data: object): boolean {
  return Object.values(data)
    .flat()
    .every((value) => typeof value !== 'string' || (value.isWellFormed() && !value.includes('\u0000')));
}
