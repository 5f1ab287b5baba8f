import { api } from '@muster/contracts';
import { missingStandby } from '../../database/missing-standby.ts';
import type { CreateFeature } from '../../feature.ts';
import { anybody } from '../../http/access.ts';
import { defineRoute } from '../../http/define-route.ts';
import { httpError } from '../../http/errors.ts';

/** Is the process alive, and can it serve? No token is needed, so the database is asked once a second at most. */
const KEPT_MS = 1_000;
const PATIENCE_MS = 5_000;

/**
 * The error of a server that only reads, such as a standby: the old primary after a failover looks alive, and the driver leaves it
 * when it sees this error.
 */
const MUST_WRITE = {
  text: `do $$ begin
    if current_setting('transaction_read_only')::boolean then
      raise read_only_sql_transaction using message = 'The server is read-only: it is a standby, or is told not to write.';
    end if;
  end $$`,
};

/** A database that neither answers nor refuses is not ready either. */
async function within(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`The database did not answer within ${ms} ms.`)), ms);
  });
  await Promise.race([work, late]).finally(() => clearTimeout(timer));
}

export const health: CreateFeature = ({ checkSchema, db, isDraining, log }) => {
  let wasReady = true;
  let asked: { at: number; ready: Promise<boolean> } | undefined;

  let wait: string | null = null;

  async function look(): Promise<boolean> {
    try {
      await within(PATIENCE_MS, db.reserved.query(MUST_WRITE).then(checkSchema));
      if (db.kind === 'postgres') await within(PATIENCE_MS, noticeWait());
      wasReady = true;
      return true;
    } catch (error) {
      // a balancer asks every second
      log[wasReady ? 'warn' : 'debug']({ err: error }, 'Not ready.');
      wasReady = false;
      return false;
    }
  }

  /** Ready all the same: another node would wait as well, and what only reads works. */
  async function noticeWait(): Promise<void> {
    const last = wait;
    wait = await missingStandby(db.reserved);
    if (wait !== null && last === null) log.warn(wait);
    if (wait === null && last !== null) log.info('Changes no longer wait for a synchronous standby.');
  }

  function ready(): Promise<boolean> {
    const now = performance.now();
    if (!asked || now - asked.at > KEPT_MS) asked = { at: now, ready: look() };
    return asked.ready;
  }

  return {
    name: 'health',
    routes: [
      defineRoute(api.server.health, {
        access: anybody,
        evenStopping: true,
        handler: async () => ({ status: 'ok' }),
      }),
      defineRoute(api.server.readiness, {
        access: anybody,
        evenStopping: true,
        async handler() {
          if (isDraining())
            throw httpError(
              'MUSTER_DRAINING',
              'This node is draining: it finishes its requests and stops. Use another node.',
            );
          if (await ready()) return { status: 'ready' };
          throw httpError(
            'MUSTER_DATABASE_AWAY',
            'The database does not answer, accepts no writes, or its schema does not fit this version.',
          );
        },
      }),
    ],
  };
};
