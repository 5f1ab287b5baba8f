import type { FeedEvent } from '@muster/contracts';
import type { Engine } from '@muster/engine';
import type { StreamEvent } from '../../events/stream-event.ts';

export interface Filter {
  readonly target?: string | undefined;
  readonly kind?: string | undefined;
  readonly type?: string | undefined;
}

/** `start` and `end` are also valid positions. */
export async function readPlace(engine: Engine, text: string): Promise<string> {
  return text === 'start' || text === 'end' ? engine.feed.cursor(engine.db, text) : text;
}

export function wireEvent(event: StreamEvent): FeedEvent {
  return {
    cursor: event.cursor,
    type: event.type,
    at: event.at.toISOString(),
    actionId: event.actionId,
    target: targetOf(event),
    kind: event.kind,
    channel: event.channel,
    tags: [...event.tags],
    attempt: event.attempt,
    ...(event.worker === null ? {} : { worker: event.worker }),
    ...(event.reason === null ? {} : { reason: event.reason }),
    ...(event.type === 'NOTED' ? { data: event.note } : {}),
  };
}

function targetOf({ space, laneName }: StreamEvent): string | null {
  return laneName === null ? null : `${space}:${laneName}`;
}

export function wanted({ target, kind, type }: Filter): (event: StreamEvent) => boolean {
  return (event) =>
    (type === undefined || event.type === type) &&
    (kind === undefined || event.kind === kind || (event.type === 'NOTED' && event.reason === kind)) &&
    (target === undefined || targetOf(event) === target || event.tags.includes(target));
}
