import type pg from 'pg';

/** Closes the idle connections of a pool; one that is lent out finds out by itself. */
export function closeIdle(pool: pg.Pool): (reason: Error) => void {
  const idle = new Set<pg.ClientBase>();
  pool.on('acquire', (client) => void idle.delete(client));
  pool.on('remove', (client) => void idle.delete(client));
  pool.on('release', (error: Error | boolean | undefined, client) => {
    if (!error) idle.add(client);
  });
  // as if it had broken: the pool then removes it
  return (reason) => {
    for (const client of [...idle]) client.emit('error', reason);
  };
}
