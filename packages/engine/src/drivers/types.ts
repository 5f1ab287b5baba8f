import pg from 'pg';

/**
 * Values as the engine reads them, whatever parsers the caller set for the rest of his program: 64-bit numbers as
 * text, times as Date, JSON parsed.
 */
const INT8 = 20;
const XID8 = 5069;

export const types = {
  getTypeParser(oid: number, format?: 'binary' | 'text') {
    if (oid === INT8 || oid === XID8) return (value: string) => value;
    return (
      format === undefined ? pg.types.getTypeParser(oid) : pg.types.getTypeParser(oid, format)
    ) as never;
  },
};
