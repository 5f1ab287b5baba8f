import { inject } from 'vitest';

/** The view of all sessions of the database: on a distributed one, a statement waits on the server of its tenant. */
export const sessions = () => (inject('isDistributed') ? 'citus_stat_activity' : 'pg_stat_activity');
