import type { RunningDevices } from '@muster/contracts';
import { type Engine, type Queryable, type Transaction, whileLocked } from '@muster/engine';
import type { Audit } from '../../audit/audit.ts';
import type { ChannelContacts } from '../../contacts/contacts.ts';
import { unknownPc, WHOLE_FLEET } from '../../fleet/index.ts';
import { isId } from '../../http/ids.ts';
import type { Caller } from '../../tokens/caller.ts';
import type { Tokens } from '../../tokens/tokens.ts';
import type { createClaimable } from './claimable.ts';
import type { DeletedPcs } from './deleted-pcs.ts';
import { taskError } from './errors.ts';
import type { PcListing, PcLoad, PcQueries, PcRow } from './pc-queries.ts';
import type { RunnerOf } from './runner-access.ts';
import { payloadOf } from './wire.ts';

/** PCs and the tokens of their runners. A PC is a runner of the engine; the lanes of its devices are the runner's. */
export type Pcs = ReturnType<typeof createPcs>;

const DEFAULT_SLOTS = 20;
const MOST_PCS = 1_000;
const MOST_RUNNING = 5_000;

export function createPcs(tools: {
  audit: Audit;
  claimableOf: ReturnType<typeof createClaimable>;
  contacts: ChannelContacts;
  deletedPcs: DeletedPcs;
  engine: Engine;
  mostSlots: number;
  queries: PcQueries;
  tokens: Tokens;
}) {
  const { audit, claimableOf, contacts, deletedPcs, engine, mostSlots, queries, tokens } = tools;
  const { db } = engine;

  async function locked(tx: Transaction, tenantId: number, pcId: string): Promise<PcRow> {
    const pc = isId(pcId) ? await queries.lock(tx, tenantId, pcId) : null;
    if (!pc) throw unknownPc();
    return pc;
  }

  function checkSlots(slots: number): number {
    if (slots > mostSlots)
      throw taskError(
        'MUSTER_TOO_MANY_SLOTS',
        `slots must be from 1 to ${mostSlots}; MUSTER_MAX_SLOTS_PER_PC is the limit.`,
      );
    return slots;
  }

  function issue(
    tx: Queryable,
    { tenantId, name: createdBy }: Caller,
    { pcId, name, runnerId }: Pick<PcRow, 'pcId' | 'name' | 'runnerId'>,
  ): Promise<string> {
    const restriction: RunnerOf = { pcId, runnerId };
    return tokens.issueFor(tx, { tenantId, kind: 'runner', owner: pcId, name, restriction, createdBy });
  }

  const nameTaken = () => taskError('MUSTER_PC_EXISTS', 'A PC with this name already exists.');

  return {
    create: (caller: Caller, given: { name: string; slots?: number | undefined }) =>
      audit.change(
        caller,
        async (tx) => {
          const { tenantId } = caller;
          const slots = checkSlots(given.slots ?? Math.min(DEFAULT_SLOTS, mostSlots));
          const runnerId = await engine.createRunner(tx, tenantId, slots);
          const pcId = await queries.insert(tx, { tenantId, name: given.name, runnerId });
          if (pcId === null) throw nameTaken();
          const runnerToken = await issue(tx, caller, { pcId, name: given.name, runnerId });
          return { id: pcId, name: given.name, runnerToken };
        },
        (pc) => ({ act: 'pc.create', target: `pc ${pc.id}`, detail: given }),
      ),

    async get(caller: Caller, pcId: string): Promise<PcLoad> {
      const pc = isId(pcId) ? await queries.get(db, caller.tenantId, pcId) : null;
      if (!pc) throw unknownPc();
      return pc;
    },

    /** What all PCs hold, in one read of the queue and one of names. */
    async running({ tenantId }: Caller): Promise<RunningDevices> {
      const at = engine.now().toISOString();
      const all = await queries.newest(db, tenantId, MOST_PCS);
      const pcOf = new Map(all.map(({ pcId, runnerId }) => [runnerId, pcId]));
      const held = await engine.heldByAll(db, {
        tenantId,
        runnerIds: [...pcOf.keys()],
        most: MOST_RUNNING + 1,
      });
      const shown = held.slice(0, MOST_RUNNING);
      const names = await queries.namesOf(db, tenantId, shown.map(payloadOf));
      const running = shown.map((action, n) => ({
        pcId: pcOf.get(action.runnerId) as string,
        deviceId: String(payloadOf(action).deviceId),
        deviceName: names[n]?.device ?? String(payloadOf(action).deviceId),
        taskId: String(payloadOf(action).taskId),
        taskName: names[n]?.task ?? String(payloadOf(action).taskId),
        id: action.id,
        kind: action.kind,
        attempt: action.attempt,
        maxAttempts: action.maxAttempts,
        startedAt: action.leasedAt.toISOString(),
        timeoutAt: action.leaseUntil.toISOString(),
        worker: action.worker,
        ...(action.cancelRequested ? { cancelRequested: true as const } : {}),
      }));
      return {
        running: running.toSorted((a, b) => Number(a.pcId) - Number(b.pcId)),
        more: held.length > MOST_RUNNING,
        at,
      };
    },

    instances: ({ tenantId, pcId }: PcLoad) => contacts.instances(db, tenantId, pcId),

    list: (caller: Caller, page: PcListing) => queries.list(db, caller.tenantId, page),

    update: (caller: Caller, pcId: string, to: { name?: string | undefined; slots?: number | undefined }) =>
      audit.change(
        caller,
        async (tx) => {
          const { tenantId } = caller;
          const pc = await locked(tx, tenantId, pcId);
          if (to.name !== undefined && !(await queries.rename(tx, tenantId, pcId, to.name)))
            throw nameTaken();
          if (to.slots !== undefined) await engine.setSlots(tx, tenantId, pc.runnerId, checkSlots(to.slots));
        },
        { act: 'pc.update', target: `pc ${pcId}`, detail: to },
      ),

    rotate: (caller: Caller, pcId: string) =>
      audit.change(
        caller,
        async (tx) => {
          const pc = await locked(tx, caller.tenantId, pcId);
          const runnerToken = await issue(tx, caller, pc);
          return { id: pcId, name: pc.name, runnerToken };
        },
        { act: 'token.rotate', target: `pc ${pcId}` },
      ),

    revoke: (caller: Caller, pcId: string) =>
      audit.change(
        caller,
        async (tx) => {
          await locked(tx, caller.tenantId, pcId);
          if ((await tokens.revokeOf(tx, caller.tenantId, 'runner', [pcId])) === 0)
            throw taskError('MUSTER_NO_RUNNER_TOKEN', 'This PC has no valid token.');
        },
        { act: 'token.revoke', target: `pc ${pcId}` },
      ),

    /**
     * Its devices are left without a PC, and its runner gets nothing more. The runner may still report what it holds
     * (`end-deleted-pcs`), which otherwise ends with its lease; if it holds nothing, its token is rejected at once.
     */
    remove: (caller: Caller, pcId: string) =>
      audit.change(
        caller,
        async (tx) => {
          const { tenantId } = caller;
          const pc = isId(pcId) ? await queries.lockToDelete(tx, tenantId, pcId) : null;
          if (!pc) throw unknownPc();
          // claims lock the PC's row, so nothing is handed out between this look and the deletion
          const held = await engine.held(tx, { tenantId, runnerId: pc.runnerId });
          if (held.length === 0) await tokens.revokeOf(tx, tenantId, 'runner', [pcId]);
          else await deletedPcs.tell(tx, tenantId, pcId);
          const lanes = await queries.lanesOf(tx, tenantId, pcId);
          await engine.assignRunners(
            tx,
            tenantId,
            lanes.map((laneId) => ({ laneId, runnerId: null })),
          );
          await queries.remove(tx, tenantId, pcId);
          await contacts.forget(tx, tenantId, pcId);
          return pc;
        },
        (pc) => ({ act: 'pc.delete', target: `pc ${pcId}`, detail: { name: pc.name } }),
        WHOLE_FLEET,
      ),

    /** The runner, or an operator, says which devices are present. A device that is back may be claimed at once. */
    present: (
      caller: Caller,
      pcId: string,
      said: { present: string[] } | { devices: { id: string; present: boolean }[] },
    ) =>
      whileLocked(db, async (tx) => {
        const { tenantId } = caller;
        const pc = await locked(tx, tenantId, pcId);
        const wholeList = 'present' in said;
        const named = wholeList ? said.present.map((id) => ({ id, present: true })) : said.devices;
        const last = [...new Map(named.map((one) => [one.id, one])).values()];
        const devices = await queries.setPresence(tx, tenantId, pcId, last, wholeList);
        if (devices.some(({ appeared }) => appeared))
          await engine.wake(tx, [{ tenantId, runnerId: pc.runnerId }]);
        const known = new Set(devices.map(({ id }) => id));
        return {
          devices: devices.map(({ id, present }) => ({ id, present })),
          unknown: last.map(({ id }) => id).filter((id) => !known.has(id)),
        };
      }),

    /** Adds what each would get now: one more look for a page, at the PCs that have a free slot. */
    async show(pcs: readonly PcLoad[]) {
      const claimable = await claimableOf(db, pcs);
      return pcs.map((pc) => shown(pc, claimable.get(pc.pcId) ?? 0));
    },
  };

  function shown(pc: PcLoad, claimable: number) {
    const target = Math.min(pc.slots, pc.eligible);
    const seenAt = contacts.latest(pc.tenantId, pc.pcId, pc.seenAt);
    return {
      id: pc.pcId,
      name: pc.name,
      slots: pc.slots,
      runningCount: pc.running,
      eligibleDeviceCount: pc.eligible,
      target,
      freeSlots: Math.max(0, target - pc.running),
      deviceCount: pc.devices,
      errorDeviceCount: pc.inError,
      absentDeviceCount: pc.absent,
      claimableDeviceCount: claimable,
      devicesInError: pc.errorIds,
      namesInError: pc.errorNames,
      online: contacts.isOnline(seenAt),
      lastSeenAt: seenAt,
      createdAt: pc.createdAt,
    };
  }
}
