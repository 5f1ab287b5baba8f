import { type ActionView, type Engine, EngineError, type Enqueued, type Queryable } from '@muster/engine';
import type { Caller } from '../tokens/caller.ts';

/**
 * Edit and run again: a new action like one that has ended, with a reference to it. It goes to the end of the same lane
 * and channel, without the old one's times. A door whose actions have data outside the engine makes the copy itself.
 */
export interface Changes {
  readonly kind?: string | undefined;
  readonly payload?: unknown;
  readonly priority?: 'normal' | 'urgent' | undefined;
  readonly notBefore?: string | undefined;
  readonly deliverBy?: string | undefined;
  readonly deadline?: string | undefined;
  readonly maxAttempts?: number | undefined;
  readonly headOfLine?: 'skip' | 'hold' | undefined;
}

export interface CopyRequest {
  readonly caller: Caller;
  readonly changes: Changes;
  readonly idempotencyKey: string | undefined;
}

export type Copy = (tx: Queryable, old: ActionView, request: CopyRequest) => Promise<Enqueued>;

export type Copying = ReturnType<typeof createCopying>;

export function createCopying(engine: Engine) {
  const byChannel = new Map<string, Copy>();
  const refused = new Set<string>();

  /** Copies what the engine stores. A lane deleted meanwhile is created again. */
  const plain: Copy = async (tx, old, { caller, changes, idempotencyKey }) => {
    const { tenantId, space, laneName } = old;
    if (space === null || laneName === null)
      throw new EngineError('MUSTER_UNKNOWN_LANE', 'The lane of this action no longer exists.');
    return engine.enqueue(tx, {
      tenantId,
      laneId: await engine.ensureLane(tx, tenantId, space, laneName),
      channel: old.channel,
      kind: changes.kind ?? old.kind,
      payload: changes.payload === undefined ? old.payload : changes.payload,
      priority: changes.priority ?? old.priority,
      tags: old.tags,
      notBefore: date(changes.notBefore),
      deliverBy: date(changes.deliverBy),
      deadline: date(changes.deadline),
      maxAttempts: changes.maxAttempts ?? old.maxAttempts,
      headOfLine: changes.headOfLine ?? old.headOfLine,
      leaseMs: old.leaseMs ?? undefined,
      idempotencyKey,
      createdBy: caller.name,
      copiedFrom: old.id,
    });
  };

  return {
    plain,
    /** Actions of this channel are copied by their door. */
    of: (channel: string, copy: Copy) => void byChannel.set(channel, copy),
    /** Actions of this channel are not copied. */
    refuse(channel: string, why: () => Error) {
      refused.add(channel);
      byChannel.set(channel, () => {
        throw why();
      });
    },
    isRefused: (channel: string) => refused.has(channel),
    copy: ((tx, old, request) => (byChannel.get(old.channel) ?? plain)(tx, old, request)) satisfies Copy,
  };
}

function date(text: string | undefined): Date | undefined {
  return text === undefined ? undefined : new Date(text);
}
