import { type Engine, type Queryable, whileLocked } from '@muster/engine';
import {
  buildCommand,
  type Identity,
  MdmError,
  type PlistDict,
  plistToJson,
  type ReadReport,
  readReport,
} from '@muster/mdm';
import type { FastifyRequest } from 'fastify';
import type { Audit } from '../../audit/audit.ts';
import type { ChannelContacts } from '../../contacts/contacts.ts';
import type { Log } from '../../http/logging.ts';
import type { LongPolls } from '../../http/long-poll.ts';
import type { Secrets } from '../../secrets/secrets.ts';
import type { Arrivals } from './commands/arrivals.ts';
import type { CommandCache } from './commands/cache.ts';
import { isLeaving, type Reported } from './commands/gathered-settle.ts';
import type { Answered, NextCommand, Settled } from './commands/settle.ts';
import { refused } from './errors.ts';
import type { Publish } from './events.ts';
import type { Lives } from './lives.ts';
import type { Phones } from './phones.ts';
import type { Pushes } from './push/index.ts';
import { MDM, type RawCommands, workerOf } from './raw-commands.ts';
import * as sealed from './sealed.ts';

/** Commands that cannot be built are skipped; after this many in a row the rest waits for the next contact. */
const MOST_PASSED_OVER = 5;
/** A page must be able to show a row of history, so a larger answer is stored separately. */
const LARGEST_RESULT = 60_000;
const NOTHING = Buffer.alloc(0);

type Known = NonNullable<Settled>;

/** The report of a phone that only asks for a command. */
const ASKS = { status: 'Idle', commandUuid: null, errorChain: [] } as const;

interface Tools {
  readonly arrivals: Arrivals;
  readonly audit: Audit;
  readonly commands: CommandCache;
  readonly contacts: ChannelContacts;
  readonly engine: Engine;
  /** How long a phone that finds nothing is held, if something is on its way to it. */
  readonly holdSeconds: number;
  readonly lives: Lives;
  readonly log: Log;
  readonly longPolls: LongPolls;
  readonly phones: Phones;
  readonly publish: Publish;
  readonly pushes: Pushes;
  readonly raw: RawCommands;
  readonly secrets: Secrets;
  readonly settle: (reported: Reported) => Promise<Settled>;
}

/**
 * A phone reports the outcome of a command, and gets the next one; an empty answer ends the session.
 *
 *   report ──settled──► command of the cache? ──no──► of its lane? ──no──► something on its way? ──no──► empty
 *                            │ yes                      │ yes                   │ yes: held for a moment
 *                            ▼                          ▼                       ▼
 *                          handed out                 handed out          command, or empty and woken again
 */
export function createConversation(tools: Tools) {
  const {
    arrivals,
    audit,
    commands,
    contacts,
    engine,
    holdSeconds,
    lives,
    log,
    longPolls,
    phones,
    publish,
    pushes,
    raw,
    secrets,
    settle,
  } = tools;

  const look = async (tenantId: number, { hash }: Identity, udid: string): Promise<Known | null> =>
    settle({ tenantId, udid, hash, ...ASKS, begins: false });

  async function unlockToken(
    tenantId: number,
    udid: string,
    deviceId: string,
    next: NextCommand,
  ): Promise<PlistDict> {
    if (next.sealedUnlockToken === null)
      throw new MdmError('COMMAND_INVALID', 'The unlock token no longer exists.');
    // it unlocks the phone like its passcode: each use is logged
    if (!next.again)
      await audit.writeGathered(
        { tenantId, tokenId: null, name: MDM },
        {
          act: 'device.use-unlock-token',
          target: `device ${deviceId}`,
          detail: { commandUuid: next.commandUuid },
        },
      );
    return { UnlockToken: secrets.open(next.sealedUnlockToken, sealed.unlockToken(tenantId, udid)) };
  }

  async function bodyOf(tenantId: number, { udid, deviceId }: Known, next: NextCommand): Promise<Buffer> {
    const keys =
      next.requestType === 'ClearPasscode'
        ? await unlockToken(tenantId, udid, deviceId, next)
        : raw.keysOf(next.payload);
    return buildCommand(next.commandUuid, { requestType: next.requestType, keys });
  }

  /** It can never be handed out; the sender of the command is told. */
  async function giveUp(
    tenantId: number,
    { udid }: Known,
    next: NextCommand,
    error: MdmError,
  ): Promise<void> {
    log.warn({ err: error, commandUuid: next.commandUuid }, 'A command could not be handed out.');
    await whileLocked(engine.db, async (tx) => {
      const closed = await commands.close(tx, tenantId, udid, next.commandUuid);
      if (closed?.source === 'bus')
        await publish(tx, tenantId, [
          {
            ...{ type: 'ACTION_FAILED', udid, commandUuid: next.commandUuid },
            payload: { reason: 'dispatch_failed', code: error.code },
          },
        ]);
      if (closed?.source === 'lane' && closed.actionId !== null && closed.attempt !== null)
        await engine.report(tx, {
          ...{ tenantId, actionId: closed.actionId, attempt: closed.attempt, worker: workerOf(udid) },
          ...{ status: 'failed', final: true, error: error.message },
        });
    });
  }

  /** A phone's report on an attempt of its lane. */
  async function reportAttempt(
    client: Queryable,
    tenantId: number,
    { udid, deviceId }: Known,
    answered: Answered,
    read: ReadReport,
  ): Promise<void> {
    if (answered.actionId === null || answered.attempt === null) return;
    let outcome = outcomeOf(read);
    const length = Buffer.byteLength(JSON.stringify(outcome.result ?? null));
    if (length > LARGEST_RESULT && read.ok && read.report.status !== 'Idle') {
      const { commandUuid } = read.report;
      await commands.keepAnswer(client, tenantId, { udid, commandUuid }, outcome.result);
      const answer = `/api/devices/${deviceId}/mdm/answers/${answered.actionId}`;
      outcome = {
        ...outcome,
        result: { tooLarge: length, fields: Object.keys(outcome.result as object), answer },
      };
    }
    await engine.report(client, {
      ...{
        tenantId,
        actionId: answered.actionId,
        attempt: answered.attempt,
        worker: workerOf(udid),
        channel: MDM,
      },
      ...outcome,
    });
  }

  async function ofLane(tenantId: number, known: Known, action: Awaited<ReturnType<RawCommands['claim']>>) {
    if (!action) return null;
    const { commandUuid, requestType, parameters } = await raw.hand(tenantId, known.udid, action);
    const sealedUnlockToken =
      requestType === 'ClearPasscode'
        ? ((await phones.ofDevice(engine.db, tenantId, known.deviceId))?.sealedUnlockToken ?? null)
        : null;
    const next: NextCommand = {
      ...{ commandUuid, requestType, payload: parameters, source: 'lane', again: action.redelivered },
      ...{ wasRefused: false, sealedUnlockToken },
    };
    return next;
  }

  /**
   * Its lane has an action that is not a command yet: the door that makes one of it was just told that the phone is
   * here.
   */
  async function hold(
    request: FastifyRequest,
    tenantId: number,
    identity: Identity,
    known: Known,
    { aside, isIdle }: { aside: readonly string[]; isIdle: boolean },
  ) {
    const { laneId, udid } = known;
    const [load] = await engine.laneLoads(engine.db, [{ tenantId, laneId }], aside.length + 1);
    const isBusy = load?.leased != null;
    // what it has refused is not on its way
    if (!load || !(load.waiting > aside.length || (isIdle && isBusy))) return null;
    const found = await longPolls.run(
      request,
      holdSeconds,
      async (wait) => {
        const arrived = new AbortController();
        const stop = arrivals.wait(tenantId, udid, () => arrived.abort());
        try {
          // what came before the listener was set up
          const before = await look(tenantId, identity, udid);
          if (!before || before.next) return before?.next ?? null;
          const signal = wait.signal ? AbortSignal.any([arrived.signal, wait.signal]) : arrived.signal;
          const action = await raw.claim({ tenantId, laneId, udid }, { ...wait, signal, except: aside });
          // claimed at the very moment another command came: released
          if (action && !signal.aborted) return await ofLane(tenantId, known, action);
          return (await look(tenantId, identity, udid))?.next ?? null;
        } finally {
          stop();
        }
      },
      null,
      true,
    );
    // it leaves without it, and nothing else would call it when it can have it
    if (!found) await phones.watch(engine.db, tenantId, udid);
    return found;
  }

  /**
   * Commands it never refused, then those it refused in its last session. A refusal should be its last report, or it
   * does not come again by itself.
   */
  async function nextOf(
    request: FastifyRequest,
    { tenantId, identity }: { tenantId: number; identity: Identity },
    known: Known,
    reported: Reported,
  ): Promise<NextCommand | null> {
    if (known.isReleased || (known.next && !known.next.wasRefused)) return known.next;
    if (!(await lives.isBegun(engine.db, tenantId, known))) {
      await phones.watch(engine.db, tenantId, known.udid);
      return known.next;
    }
    const isNotNow = reported.status === 'NotNow';
    const now = isNotNow && known.answered?.actionId ? [known.answered.actionId] : [];
    const refusedBefore = [...known.refused, ...now];
    const aside = [...known.aside, ...now];
    const of = { tenantId, laneId: known.laneId, udid: known.udid };
    const fresh = await raw.claim(of, { except: refusedBefore });
    if (fresh) return ofLane(tenantId, known, fresh);
    if (known.next) return known.next;
    const again = refusedBefore.length > aside.length ? await raw.claim(of, { except: aside }) : null;
    if (again || isNotNow) return ofLane(tenantId, known, again);
    return hold(request, tenantId, identity, known, { aside, isIdle: reported.status === 'Idle' });
  }

  return async (
    request: FastifyRequest,
    tenantId: number,
    identity: Identity,
    body: Buffer,
  ): Promise<Buffer> => {
    const read = readReport(body);
    const reported = reportedOf(tenantId, identity, read);
    const settled = await settle(reported);
    if (!settled) throw refused('The certificate does not belong to this phone.');
    // users of a device have sessions of their own, and nothing is sent to them
    if (isOfUser(read)) return NOTHING;
    contacts.heardOf(tenantId, settled.deviceId);
    if (settled.want !== null) await pushes.seen(tenantId, settled.deviceId, settled.want);
    const { answered } = settled;
    const hasLeft = isLeaving(reported, settled);
    if (answered?.source === 'lane' && hasLeft)
      await whileLocked(engine.db, async (tx) => {
        await reportAttempt(tx, tenantId, settled, answered, read);
        await publish(tx, tenantId, await lives.leave(tx, tenantId, settled.udid));
      });
    else if (answered?.source === 'lane') await reportAttempt(engine.db, tenantId, settled, answered, read);
    else if (reported.commandUuid !== null && !answered)
      log.info(
        { tenantId, deviceId: settled.deviceId },
        'A phone reported an unknown command, or one it had reported before.',
      );
    if (hasLeft) return NOTHING;
    let known: Known | null = settled;
    for (let passedOver = 0; known && passedOver < MOST_PASSED_OVER; passedOver += 1) {
      const next: NextCommand | null = await nextOf(request, { tenantId, identity }, known, reported);
      if (!next) return NOTHING;
      try {
        return await bodyOf(tenantId, known, next);
      } catch (error) {
        if (!(error instanceof MdmError)) throw error;
        await giveUp(tenantId, known, next, error);
        known = await look(tenantId, identity, known.udid);
      }
    }
    return NOTHING;
  };
}

/**
 * Refused, unless the command it is about is known: that one must not wait for ever. Plists with entities are always
 * refused.
 */
const EXCESSIVE = new Set(['PLIST_TOO_LARGE', 'PLIST_TOO_DEEP']);

function reportedOf(tenantId: number, { hash }: Identity, read: ReadReport): Reported {
  if (read.ok) {
    const { report } = read;
    const { deviceId: udid, user } = report.channel;
    // for a user, only the device counts
    if (user || report.status === 'Idle') return { tenantId, udid, hash, ...ASKS, begins: !user };
    const errorChain = 'errorChain' in report ? report.errorChain : [];
    const { status, commandUuid } = report;
    return { tenantId, udid, hash, status, commandUuid, errorChain, begins: false };
  }
  const { commandUuid, status, udid, enrollmentId, userId } = read.salvaged;
  const isExcessive = EXCESSIVE.has(read.error.code) && commandUuid === null;
  if (isExcessive || read.error.code === 'PLIST_ENTITIES') throw read.error;
  const isAbout = commandUuid !== null && userId === null;
  return {
    tenantId,
    udid: udid ?? enrollmentId,
    hash,
    commandUuid: isAbout ? commandUuid : null,
    status: isAbout ? (status ?? 'Error') : 'Idle',
    errorChain: [],
    begins: status === 'Idle',
  };
}

const isOfUser = (read: ReadReport) =>
  read.ok ? read.report.channel.user !== null : read.salvaged.userId !== null;

type Outcome = Pick<
  Parameters<Engine['report']>[1],
  'status' | 'final' | 'error' | 'result' | 'retryAfterMs'
>;

function outcomeOf(read: ReadReport): Outcome {
  if (!read.ok) {
    const isDone = read.salvaged.status === 'Acknowledged';
    const result = read.error.code === 'PLIST_TOO_LARGE' ? { tooLarge: true } : { unreadable: true };
    if (isDone) return { status: 'succeeded', result };
    return { status: 'failed', final: true, error: 'The answer of the phone cannot be read.' };
  }
  const { report } = read;
  switch (report.status) {
    case 'Acknowledged':
      return { status: 'succeeded', result: plistToJson(report.response) };
    case 'NotNow':
      return { status: 'notNow', retryAfterMs: 0 };
    case 'Idle':
      return { status: 'failed', error: 'The phone gave no reason.' };
    default:
      return {
        ...{
          status: 'failed',
          final: true,
          result: { status: report.status, errorChain: report.errorChain },
        },
        error: report.errorChain[0]?.description ?? `The phone answered ${report.status}.`,
      };
  }
}
