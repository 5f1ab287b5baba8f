import { BUSY, type Busy, type EngineError, gather, type Queryable } from '@muster/engine';
import type { AuditLine } from '../../audit/audit.ts';
import { MusterError } from '../../errors.ts';
import type { Shell } from '../../feature.ts';
import type { Caller } from '../../tokens/caller.ts';
import type { Assign, Assigned, Assignment } from './assign.ts';
import type { Dispatcher } from './dispatch.ts';
import { assignmentOf, type Given, keyOf, type MadeBefore } from './request.ts';

interface Tools extends Pick<Shell, 'audit' | 'db' | 'repeats'> {
  readonly assign: Assign;
  readonly dispatcher: Dispatcher;
  readonly made: MadeBefore;
}

interface Entry {
  readonly call: Call;
  readonly at: number;
}

interface Call {
  readonly tenantId: number;
  readonly caller: Caller;
  readonly given: Omit<Given, 'idempotencyKey'>;
  readonly assignment: Assignment;
  readonly key: string | undefined;
}

type Outcome = Assigned | MusterError | EngineError | Busy;

/** Transactions of each kind in progress; calls that come meanwhile go into the next ones. */
const AT_ONCE = 2;
const LOCK_MS = 100;
const LONGEST_TARGET = 200;

/**
 * Assigns actions to single devices, gathered as the engine gathers enqueues: the first call runs at once, those that
 * come meanwhile share the next transaction, in which every step is one statement for all of them (one transaction each
 * gave 94 a second where HTTP enqueues 3,100). Two calls for one device never share a transaction, so the second sees
 * the result of the first; a call whose device another transaction has locked is tried again later, and no other call
 * waits for it. Calls with an idempotency key are gathered separately: a key can make its insert wait for another node.
 */
export function createAssignOne({ assign, audit, db, dispatcher, made, repeats }: Tools) {
  /** Returns the new ones; the others are answered in `answers`. */
  async function takeKeys(tx: Queryable, tenantId: number, calls: readonly Entry[], answers: Outcome[]) {
    const first = new Map<string, Entry>();
    for (const entry of calls)
      if (entry.call.key !== undefined && !first.has(entry.call.key)) first.set(entry.call.key, entry);
    if (first.size === 0) return calls;
    const taken = await repeats.takeAll(
      tx,
      tenantId,
      [...first].map(([key, { call }]) => ({ key, said: { assign: call.assignment } })),
    );
    const isNew: Entry[] = [];
    for (const entry of calls) {
      const { key } = entry.call;
      const known = key === undefined ? null : taken.get(key);
      // another call in this transaction has the key: it can be answered once that one is stored
      if (key !== undefined && first.get(key) !== entry) continue;
      if (known === null) isNew.push(entry);
      else answers[entry.at] = typeof known === 'string' ? await made(tx, tenantId, known) : (known ?? BUSY);
    }
    return isNew;
  }

  async function assignAll(tx: Queryable, calls: readonly Call[]): Promise<Outcome[]> {
    const answers: Outcome[] = calls.map(() => BUSY);
    const entries = calls.map((call, at) => ({ call, at }));
    const lines: { actor: Caller; line: AuditLine }[] = [];
    // in an order that all nodes keep to
    for (const tenantId of [...new Set(calls.map((call) => call.tenantId))].sort((a, b) => a - b)) {
      const own = entries.filter(({ call }) => call.tenantId === tenantId);
      const open = await takeKeys(tx, tenantId, own, answers);
      const assigned = await assign(
        tx,
        tenantId,
        open.map(({ call: { assignment, caller } }) => ({ by: caller.name, assignment })),
        { waits: false },
      );
      const keys: { key: string; id: string | null }[] = [];
      open.forEach(({ call, at }, n) => {
        const answer = assigned[n] as Assigned | MusterError | Busy;
        answers[at] = answer;
        const batch = answer === BUSY || answer instanceof MusterError ? null : answer;
        if (batch) lines.push({ actor: call.caller, line: lineOf(call, batch) });
        if (call.key !== undefined) keys.push({ key: call.key, id: batch?.batchId ?? null });
      });
      await repeats.note(tx, tenantId, keys);
    }
    await audit.writeAll(tx, lines);
    return answers;
  }

  const gathered = (name: string) =>
    gather<Call, Outcome>({
      name,
      inFlightAtOnce: AT_ONCE,
      deadlineMs: db.deadlineMs,
      key: ({ assignment: { deviceIds }, tenantId }) => `${tenantId}:${deviceIds[0]}`,
      run: (calls) => db.transaction((tx) => assignAll(tx, calls), { lockMs: LOCK_MS }),
    });
  const plain = gathered('assign');
  const keyed = gathered('assign-keyed');

  return async (caller: Caller, given: Given & { readonly deviceIds: readonly string[] }) => {
    const { idempotencyKey, ...rest } = given;
    const key = keyOf(idempotencyKey);
    const call = { tenantId: caller.tenantId, caller, given: rest, assignment: assignmentOf(given), key };
    await dispatcher.prepare(caller.tenantId);
    const answer = await (key === undefined ? plain : keyed)(call);
    if (answer instanceof Error) throw answer;
    return answer as Assigned;
  };
}

function lineOf(
  { assignment: { deviceIds }, given }: Call,
  { batchId, failed: [refused] }: Assigned,
): AuditLine {
  return {
    act: 'pipeline.assign',
    target: `device ${deviceIds[0]?.slice(0, LONGEST_TARGET)}`,
    detail: Object.assign({}, given, { deviceIds: undefined, batchId, refused: refused?.code }),
  };
}
