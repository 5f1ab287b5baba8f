// What an act costs: processor time of both sides, and what it writes to the log, record by record.

/** @typedef {{ cost: Record<string, number>, images: { name: string, images: number, bytes: number }[] }} Measured */

/**
 * The bytes of records and of whole pages in this part of the log, and the pages of each table or index.
 * @param {import('./stage.mjs').Stage} stage @param {string} from @param {string} to
 */
async function writtenBetween(stage, from, to) {
  if (from === to) return { records: 0, inPages: 0, images: [] }; // an empty part is refused
  const [wal] = await stage.query(
    'select sum(record_size)::float8 as records, sum(fpi_size)::float8 as images from pg_get_wal_stats($1, $2, false)',
    [from, to],
  );
  const images = await stage.query(
    `select coalesce(c.relname, 'another') as name, count(*)::int as images, avg(r.fpi_length)::float8 as bytes
    from pg_get_wal_records_info($1, $2) r
    cross join lateral regexp_match(r.block_ref, 'rel [0-9]+/[0-9]+/([0-9]+) fork main blk [0-9]+ \\(FPW\\)') m
    left join pg_class c on c.relfilenode = m[1]::oid
    where r.fpi_length > 0 and m is not null group by 1`,
    [from, to],
  );
  return { records: wal.records, inPages: wal.images, images };
}

/**
 * A function that does something n times over, and says what one of them cost.
 * @param {import('./stage.mjs').Stage} stage
 */
export function measuring(stage) {
  /** @param {number} n @param {() => Promise<unknown>} act @returns {Promise<Measured>} */
  return async (n, act) => {
    const before = await stage.reading();
    const counts = /** @type {import('./crowd.mjs').Counts | undefined} */ (await act());
    await stage.server.contacts.write();
    const after = await stage.reading();
    const { records, inPages, images } = await writtenBetween(stage, before.lsn, after.lsn);
    return {
      images,
      cost: {
        walBytes: records / n,
        imageBytes: inPages / n,
        postgresMicros: ((after.postgres - before.postgres) / n) * 1_000,
        nodeMicros: ((after.node - before.node) / n) * 1_000,
        ...(counts?.checkIns ? { bytesIn: counts.bytesIn / n, bytesOut: counts.bytesOut / n } : {}),
      },
    };
  };
}
