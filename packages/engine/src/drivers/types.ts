import pg from 'pg';

/**
 * Values as the engine reads them, whatever parsers the caller sets for the rest of his program: 64-bit numbers as
 * text, times as Date, JSON parsed. All others are those that were there when this module was loaded.
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

/** PostgreSQL writes `2026-11-15 10:42:03.123456+00`; the general parser does far more than this needs. */
parsers.set(OIDS.timestamptz, (value) =>
  /^\d{4}-.*\+00$/.test(value)
    ? new Date(`${value.slice(0, 10)}T${value.slice(11, -3).slice(0, 12)}Z`)
    : rareTime(value),
);

const general = pg.types.getTypeParser(OIDS.timestamptz) as (value: string) => unknown;

/** A time that no Date can hold (`infinity`, the year 290000) is shown as the last or the first one that can be written. */
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
