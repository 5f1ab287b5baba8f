import pg from 'pg';

/**
 * Values as the engine reads them, whatever parsers the caller's program sets: 64-bit numbers as text, times as Date,
 * JSON parsed. All other types use the parsers that were set when this module was loaded.
 */
const OIDS = {
  bool: 16,
  int8: 20,
  int4: 23,
  json: 114,
  float8: 701,
  int4s: 1007,
  texts: 1009,
  timestamptz: 1184,
  jsonb: 3802,
  xid8: 5069,
};
const asIs = (value: string) => value;

const parsers = new Map<number, (value: string) => unknown>(
  Object.values(OIDS).map((oid) => [oid, pg.types.getTypeParser(oid) as (value: string) => unknown]),
);
parsers.set(OIDS.int8, asIs).set(OIDS.xid8, asIs).set(OIDS.json, JSON.parse).set(OIDS.jsonb, JSON.parse);

/**
 * PostgreSQL writes `2026-11-15 10:42:03.123456+00`; the general parser does far more than that needs, and allocates
 * more.
 */
parsers.set(OIDS.timestamptz, (value) => {
  const { length } = value;
  if (value.charCodeAt(4) !== DASH || value.charCodeAt(length - 3) !== PLUS || !value.endsWith('00'))
    return rareTime(value);
  const pair = (at: number) => (value.charCodeAt(at) - ZERO) * 10 + value.charCodeAt(at + 1) - ZERO;
  let ms = 0;
  for (let at = 20, worth = 100; at < length - 3 && worth >= 1; at += 1, worth /= 10)
    ms += (value.charCodeAt(at) - ZERO) * worth;
  const year = pair(0) * 100 + pair(2);
  if (year < 100) return rareTime(value); // Date.UTC would take the year for one of the last century
  return new Date(Date.UTC(year, pair(5) - 1, pair(8), pair(11), pair(14), pair(17), ms));
});
const ZERO = '0'.charCodeAt(0);
const DASH = '-'.charCodeAt(0);
const PLUS = '+'.charCodeAt(0);

const general = pg.types.getTypeParser(OIDS.timestamptz) as (value: string) => unknown;

/** A time outside Date's range (`infinity`, the year 290000) becomes the first or last year that can be written. */
function rareTime(value: string): Date {
  const at = general(value);
  if (at instanceof Date && !Number.isNaN(at.getTime())) return at;
  return new Date(/^-|BC$/.test(value) ? '0001-01-01T00:00:00Z' : '9999-12-31T23:59:59.999Z');
}

export const types = {
  getTypeParser(oid: number, format?: 'binary' | 'text') {
    if (format !== 'binary' && parsers.has(oid)) return parsers.get(oid) as never;
    return (
      format === undefined ? pg.types.getTypeParser(oid) : pg.types.getTypeParser(oid, format)
    ) as never;
  },
};
