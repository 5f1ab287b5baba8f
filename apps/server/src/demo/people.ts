import type { Calls } from './calls.ts';

/**
 * The users of the console: ana changes things, vera reads, a program queues. Their tokens are printed at the start.
 */
export interface People {
  readonly admin: string;
  readonly ana: string;
  readonly vera: string;
  readonly program: string;
}

export async function hirePeople({ as, client }: Calls, admin: string): Promise<People> {
  const issue = async (name: string, role: 'operator' | 'viewer') =>
    (await client.tokens.create({ ...as(admin), body: { kind: 'operator', role, name } })).body.token;
  return {
    admin,
    ana: await issue('ana', 'operator'),
    vera: await issue('vera', 'viewer'),
    program: await issue('fleet-sync', 'operator'),
  };
}
