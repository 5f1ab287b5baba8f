import type { ClaimedAction, Engine } from '@muster/engine';
import type { FastifyRequest } from 'fastify';
import type { LongPolls } from '../../http/long-poll.ts';
import type { Agent } from './agent-access.ts';
import type { HandedToHosts } from './handed.ts';
import { CHANNEL, payloadOf, type Status, statusOf } from './wire.ts';

/**
 * Agents extend the actions they work on, up to a limit counted from the hand-out, and are told which were cancelled.
 */
export type Heartbeats = ReturnType<typeof createHeartbeats>;

interface Named {
  readonly id: string;
  readonly attempt: number;
  readonly stopping?: boolean | undefined;
}

export interface Beat {
  readonly id: string;
  readonly attempt: number;
  readonly status: Status | 'unknown';
  readonly extended: boolean;
  readonly leaseUntil?: Date | undefined;
  readonly cancelRequested?: boolean | undefined;
}

const UNKNOWN = { status: 'unknown', extended: false } as const;

export function createHeartbeats(tools: {
  engine: Engine;
  handed: HandedToHosts;
  leaseMs: number;
  longPolls: LongPolls;
  mostMs: number;
}) {
  const { engine, handed, leaseMs, longPolls, mostMs } = tools;

  /** The states of those actions that belong to the host, in one read. */
  async function statesOf(
    tenantId: number,
    hostId: string,
    ids: readonly string[],
  ): Promise<Map<string, string>> {
    if (ids.length === 0) return new Map();
    const { actions } = await engine.list(
      engine.db,
      { tenantId, ids, channel: CHANNEL },
      { limit: ids.length },
    );
    return new Map(
      actions.filter((action) => payloadOf(action).hostId === hostId).map(({ id, state }) => [id, state]),
    );
  }

  /** Cancelled actions that this agent holds but did not name: they have just been handed out. */
  const unnamed = (agent: Agent, named: readonly Named[], held: readonly ClaimedAction[]) =>
    held.filter(
      ({ cancelRequested, id, worker }) =>
        cancelRequested && worker === agent.worker && !named.some((one) => one.id === id),
    );

  /** Whether an action must be stopped that the agent does not know of. */
  async function hasNews(
    agent: Agent,
    named: readonly Named[],
    held: readonly ClaimedAction[],
  ): Promise<boolean> {
    const open = named.filter(({ stopping }) => !stopping);
    const found = (one: Named) => held.find(({ id, attempt }) => id === one.id && attempt === one.attempt);
    if (unnamed(agent, named, held).length > 0 || open.some((one) => found(one)?.cancelRequested))
      return true;
    const gone = open.filter((one) => !found(one)).map(({ id }) => id);
    const states = await statesOf(agent.tenantId, agent.hostId, gone);
    return [...states.values()].includes('cancelled');
  }

  return {
    /** Waits at most this long until an action must be stopped; costs no query until then. */
    async wait(
      agent: Agent,
      named: readonly Named[],
      seconds: number,
      request: FastifyRequest,
    ): Promise<void> {
      await longPolls.run(
        request,
        seconds,
        (waiting) =>
          engine.watchHeld(
            { tenantId: agent.tenantId, runnerId: agent.runnerId, ...waiting },
            async () => hasNews(agent, named, await engine.held(engine.db, agent)),
            (news) => news,
          ),
        false,
        true,
      );
    },

    /** Cancelled ones that it did not name. */
    async others(agent: Agent, named: readonly Named[]): Promise<Beat[]> {
      return unnamed(agent, named, await engine.held(engine.db, agent)).map(
        ({ id, attempt, leaseUntil }) => ({
          id,
          attempt,
          status: 'running',
          extended: false,
          leaseUntil,
          cancelRequested: true,
        }),
      );
    },

    async extend(agent: Agent, given: readonly Named[]): Promise<Beat[]> {
      const named = given.map(({ id, attempt }) => ({ id, attempt }));
      const { tenantId, hostId, worker } = agent;
      const isHandedHere = ({ id }: Named) => handed.get(tenantId, id)?.hostId === hostId;
      const strangers = named.filter((one) => !isHandedHere(one)).map(({ id }) => id);
      const known = await statesOf(tenantId, hostId, strangers);
      const beats = await Promise.all(
        named.map(async (one): Promise<Beat> => {
          if (!isHandedHere(one) && !known.has(one.id)) return { ...one, ...UNKNOWN };
          const answer = await engine.extend(engine.db, {
            tenantId,
            actionId: one.id,
            attempt: one.attempt,
            worker,
            leaseMs,
            mostMs,
            channel: CHANNEL,
          });
          if (!answer.extended) return { ...one, ...UNKNOWN };
          return {
            ...one,
            status: 'running',
            extended: true,
            leaseUntil: answer.leaseUntil ?? undefined,
            cancelRequested: answer.cancelRequested || undefined,
          };
        }),
      );
      const ended = beats.filter((beat) => !beat.extended).map(({ id }) => id);
      const states = await statesOf(tenantId, hostId, ended);
      return beats.map((beat) =>
        beat.extended
          ? beat
          : { ...beat, status: states.has(beat.id) ? statusOf(states.get(beat.id) ?? null) : 'unknown' },
      );
    },
  };
}
