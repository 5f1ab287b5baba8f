import { type Engine, EngineError } from '@muster/engine';

/**
 * Where a stream of hints continues. After a short absence a client gets what has changed since; after a longer one
 * only that much has changed; and if it is more than 10,000 events behind, or comes from before a restore, it reads
 * everything again.
 */
export interface Place {
  readonly cursor: string;
  readonly missed: 'nothing' | 'many' | 'resync';
}

const PAGE = 1_000;
const MOST_PAGES = 10;

export async function catchUp(engine: Engine, tenantId: number, from: string | undefined): Promise<Place> {
  const { db, feed } = engine;
  if (from === undefined) return { cursor: await feed.cursor(db, 'end'), missed: 'nothing' };
  let cursor = from;
  try {
    for (let pages = 1; pages <= MOST_PAGES; pages += 1) {
      const page = await feed.read(db, { tenantId, cursor, limit: PAGE });
      // the first page is for the stream itself, which can name what is in it
      if (!page.more)
        return pages === 1 ? { cursor: from, missed: 'nothing' } : { cursor: page.cursor, missed: 'many' };
      cursor = page.cursor;
    }
  } catch (error) {
    if (!(error instanceof EngineError && error.code === 'MUSTER_OTHER_INCARNATION')) throw error;
  }
  return { cursor: await feed.cursor(db, 'end'), missed: 'resync' };
}
