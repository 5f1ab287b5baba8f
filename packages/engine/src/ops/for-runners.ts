import { byTenant } from '../by-tenant.ts';
import type { Ask, Facts, Told } from '../effects.ts';
import { EngineError } from '../errors.ts';
import type { Context } from '../operation.ts';
import { checkLease, checkName, checkRunner, checkTenant } from '../values.ts';

/** Claims for runners whose actions the caller chooses: several runners at once, each once. */
interface OfRunner {
  readonly tenantId: number;
  readonly runnerId: string;
  readonly worker: string;
}

export interface ForRunner extends OfRunner {
  readonly leaseMs: number;
}

/** Another claim may raise the runner between look and lock; the look is then repeated, up to this many times. */
const MOST_TRIES = 20;

export interface RowForRunner {
  /** The number of the request, from 1. */
  ord: number;
  known: boolean;
  /** Whether there was something to take. */
  wanted: boolean;
  /** Null: nothing was taken. */
  nth: number | null;
  action_id: string;
}

export function checkForRunners(requests: readonly ForRunner[]): void {
  checkRunners(requests);
  for (const { leaseMs } of requests) checkLease(leaseMs);
}

export function checkRunners(requests: readonly OfRunner[]): void {
  const seen = new Set<string>();
  for (const { tenantId, runnerId, worker } of requests) {
    checkTenant(tenantId);
    checkRunner(runnerId);
    checkName(worker, 'worker', 0);
    const key = `${tenantId}:${runnerId}`;
    if (seen.has(key)) throw new EngineError('MUSTER_BAD_VALUE', 'Each runner may be named only once.');
    seen.add(key);
  }
}

/** The first four columns of such a statement, from `$2` on. */
export const RUNNER_COLUMNS = { worker: 'text', lease_ms: 'int' };
export const runnerValues = (requests: readonly ForRunner[]) => [
  requests.map(({ tenantId }) => tenantId),
  requests.map(({ runnerId }) => runnerId),
  requests.map(({ worker }) => worker),
  requests.map(({ leaseMs }) => leaseMs),
];

/** Per tenant where the database is distributed. */
export async function askForRunners<Request extends OfRunner, Row extends RowForRunner>(
  context: Context,
  requests: readonly Request[],
  ask: Asking<Request>,
  got: (request: Request, row: Row & { nth: number }, facts: Facts | undefined) => void,
  told: Told[],
): Promise<void> {
  for (const some of byTenant(context, requests)) await askForSome<Request, Row>(some, ask, got, told);
}

type Asking<Request> = (some: readonly Request[]) => ReturnType<Ask>;

/** Asks for all, then again for requests that lost their runner's row to another transaction. */
async function askForSome<Request extends OfRunner, Row extends RowForRunner>(
  requests: readonly Request[],
  ask: Asking<Request>,
  got: (request: Request, row: Row & { nth: number }, facts: Facts | undefined) => void,
  told: Told[],
): Promise<void> {
  let left = requests;
  for (let round = 0; round < MOST_TRIES && left.length > 0; round += 1) {
    const asked = await ask(left);
    const rows = asked.rows as Row[];
    told.push(...asked.told);
    if (rows.some(({ known }) => !known))
      throw new EngineError('MUSTER_UNKNOWN_RUNNER', 'There is no such runner.');
    for (const row of rows)
      if (row.nth !== null)
        got(left[row.ord - 1] as Request, row as Row & { nth: number }, asked.factsOf(row.action_id));
    const lost = new Set(rows.filter(({ nth, wanted }) => nth === null && wanted).map(({ ord }) => ord - 1));
    left = left.filter((_, n) => lost.has(n));
  }
}
