import type { Engine } from '@muster/engine';
import type { Agent } from './agent-access.ts';
import type { HandedToHosts } from './handed.ts';
import { CHANNEL, payloadOf, type Status, statusOf } from './wire.ts';

/** Agents keep what they are still working on, up to a limit counted from the hand-out, and hear what was cancelled. */
export type Heartbeats = ReturnType<typeof createHeartbeats>;

interface Named {
  readonly id: string;
  readonly attempt: number;
}

export interface Beat extends Named {
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
  mostMs: number;
}) {
  const { engine, handed, leaseMs, mostMs } = tools;

  /** The states of those actions that are the host's, in one look. */
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

  return {
    async extend(agent: Agent, named: readonly Named[]): Promise<Beat[]> {
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
