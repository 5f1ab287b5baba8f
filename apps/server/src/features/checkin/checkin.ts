import type { Checkin } from '@muster/contracts';
import { type ClaimedAction, type Engine, EngineError } from '@muster/engine';
import type { ChannelContacts } from '../../contacts/contacts.ts';
import { gatherReads } from '../../database/gathered-reads.ts';
import {
  CHECKIN,
  type DeviceOf,
  deviceOf,
  type HandOutFacts,
  holderOf,
  PENDING_UP_TO,
} from '../../fleet/index.ts';
import type { HandOut, To } from '../../http/hand-out.ts';
import { isId } from '../../http/ids.ts';
import { heldElsewhere, instanceOf, tellHeldElsewhere, workerOf } from '../../http/instance.ts';
import type { Wait } from '../../http/long-poll.ts';
import { checkReportSize } from '../../http/report-size.ts';
import type { Caller } from '../../tokens/caller.ts';
import { replacedDevice } from './former-token.ts';
import { sourceOf, wireStatus } from './wire.ts';

/**
 * A device checks in: it may report the result of its action, and gets the next one. Both are one statement, gathered
 * with those of all other devices that check in at the same moment. A result that is no longer wanted must never be
 * answered with an error: the device would send it again for ever.
 *
 *   result? ──report, claim next──► action? ──no, and it may wait──► claim with wait ──► action?
 */
type Body = Checkin;

/** A device, and the name under which this client of the device holds its lease. */
interface Speaking extends DeviceOf {
  readonly worker: string;
}

const STATUS = { done: 'succeeded', failed: 'failed', notNow: 'notNow' } as const;

export function createCheckin(tools: {
  contacts: ChannelContacts;
  engine: Engine;
  handOut: HandOut;
  leaseSeconds: number;
}) {
  const { contacts, engine, handOut } = tools;
  const { db } = engine;
  const leaseMs = tools.leaseSeconds * 1_000;

  const waitingIn = gatherReads(
    db,
    async (lanes: readonly { tenantId: number; laneId: string }[]) => {
      const loads = await engine.laneLoads(db, lanes, PENDING_UP_TO);
      const byLane = new Map(loads.map((load) => [load.laneId, load.waiting]));
      return lanes.map((lane) => byLane.get(lane.laneId) ?? 0);
    },
    db.writers,
  );

  async function report(tenantId: number, device: Speaking, result: NonNullable<Body['result']>) {
    checkReportSize({ error: result.error, result: result.data });
    const { worker } = device;
    const answer = await engine.report(db, {
      tenantId,
      actionId: result.actionId,
      attempt: result.attempt,
      status: STATUS[result.status],
      worker,
      error: result.error,
      result: result.data,
      channel: CHECKIN,
      laneId: device.laneId,
      next: { channel: CHECKIN, worker, leaseMs, generation: device.generation },
    });
    return {
      next: answer.next,
      except: answer.accepted ? undefined : result.actionId,
      told: {
        accepted: answer.accepted,
        status: answer.state === null ? 'unknown' : wireStatus(answer.state),
        reason: answer.reason ?? undefined,
      },
    };
  }

  /** `waitSeconds` 0: looks once. */
  function claim(
    to: To,
    tenantId: number,
    device: Speaking,
    waitSeconds: number,
    except: string | undefined,
    mustAnswer = false,
  ): Promise<ClaimedAction | null> {
    const { laneId, generation, worker } = device;
    const look = ({ waitMs, signal }: Wait) =>
      engine.claim(db, {
        tenantId,
        laneId,
        generation,
        channel: CHECKIN,
        worker,
        leaseMs,
        except,
        waitMs,
        signal,
      });
    return handOut.claim(to, waitSeconds, look, null, mustAnswer);
  }

  /**
   * A client that shares its token and gets nothing may be waiting for an action that another client holds: say which.
   */
  async function sayWhoHolds(tenantId: number, { laneId, worker }: Speaking, { reply }: To): Promise<void> {
    const [load] = await engine.laneLoads(db, [{ tenantId, laneId }], 1);
    const held = load?.leased ? await engine.get(db, tenantId, load.leased.id) : null;
    if (!held?.leasedAt || !held.leaseUntil || held.worker === null) return;
    const { id, attempt, leasedAt, leaseUntil } = held;
    tellHeldElsewhere(
      reply,
      heldElsewhere([{ id, attempt, leasedAt, leaseUntil, worker: held.worker }], worker),
    );
  }

  return async (body: Body, caller: Caller, to: To) => {
    const { tenantId } = caller;
    const instance = instanceOf(to.request);
    const { deviceId, laneId, generation } = deviceOf(caller);
    const device: Speaking = {
      deviceId,
      laneId,
      generation,
      worker: workerOf(holderOf(deviceId), instance),
    };
    contacts.heardOf(tenantId, device.deviceId, instance);
    const reported = body.result && (await report(tenantId, device, body.result));
    let action = reported ? reported.next : await claim(to, tenantId, device, 0, undefined).catch(replaced);
    let direct = false;
    if (!action && body.wait) {
      const began = performance.now();
      const except = onlyId(reported?.except);
      action = await claim(to, tenantId, device, body.wait, except, reported !== undefined).catch(replaced);
      direct = action !== null && wasAssignedMeanwhile(action, performance.now() - began);
    }
    if (!action && contacts.isShared(tenantId, device.deviceId)) await sayWhoHolds(tenantId, device, to);
    const facts = action?.facts as HandOutFacts | undefined; // what the fleet's milestones record about a hand-out
    const pending = await handOut.give(
      to,
      action ? [action] : [],
      () => facts?.pending ?? waitingIn({ tenantId, laneId: device.laneId }),
    );
    return {
      action: action && {
        id: action.id,
        kind: action.kind,
        payload: action.payload,
        attempt: action.attempt,
        leaseUntil: action.leaseUntil,
        source: sourceOf(action.channel, facts),
        assignedAt: action.createdAt,
        milestoneId: facts?.milestoneId ?? null,
        trigger: direct ? 'DIRECT' : 'QUEUE',
        redelivered: action.redelivered || undefined,
        cancelRequested: action.cancelRequested || undefined,
      },
      pending,
      result: reported?.told,
    };
  };
}

/** Compares durations, not clocks: the database's and this process's clocks may differ. */
function wasAssignedMeanwhile(action: ClaimedAction, waitedMs: number): boolean {
  return action.attempt === 1 && action.leasedAt.getTime() - action.createdAt.getTime() <= waitedMs;
}

function onlyId(id: string | undefined): string | undefined {
  return id !== undefined && isId(id) ? id : undefined;
}

function replaced(error: unknown): never {
  if (error instanceof EngineError && error.code === 'MUSTER_WRONG_GENERATION') throw replacedDevice();
  throw error;
}
