import { WEBHOOK_EVENTS, type WebhookEvent } from '@muster/contracts/words';
import type { ActionState, Engine, EventType, Queryable } from '@muster/engine';
import { BUS } from '../../bus/subscription.ts';
import { CALLBACKS } from '../../callbacks/message.ts';
import type { DoorEvents } from '../../events/door-events.ts';
import type { StreamEvent } from '../../events/stream-event.ts';
import { type Facts, factsOf } from './action-facts.ts';
import { WEBHOOKS } from './channel.ts';

/** An event as webhooks send it, in the words of its door. */
export interface Told {
  readonly tenantId: number;
  readonly type: WebhookEvent;
  /** The same whenever this event is sent again, and unique, even after the database is restored. */
  readonly id: string;
  /** Events with the same key are sent in order. */
  readonly key: string;
  readonly at: Date;
  /** Its cursor in the feed. */
  readonly cursor: string;
  readonly subject: string | null;
  readonly data: Readonly<Record<string, unknown>>;
  /** What filters look at. */
  readonly kind: string | null;
  readonly tags: readonly string[];
  readonly device: string | null;
}

const OF_ACTIONS: { readonly [Type in EventType]?: { type: WebhookEvent; state: ActionState } } = {
  CREATED: { type: 'action.created', state: 'pending' },
  SENT: { type: 'action.started', state: 'claimed' },
  SUCCEEDED: { type: 'action.succeeded', state: 'succeeded' },
  FAILED_FINAL: { type: 'action.failed', state: 'failed' },
  CANCELLED: { type: 'action.cancelled', state: 'cancelled' },
  SUPERSEDED: { type: 'action.cancelled', state: 'cancelled' },
  EXPIRED: { type: 'action.expired', state: 'expired' },
};
/** Notes that are sent unchanged. */
const NOTES: readonly string[] = ['alert.raised', 'batch.finished', 'device.state_changed', 'task.finished'];
const POLICY_NOTE = 'device.state';
/** The server's own work, above all deliveries: a webhook that reported its own deliveries would never come to rest. */
const INTERNAL: readonly (string | null)[] = [BUS, CALLBACKS, WEBHOOKS];

/** What webhooks send for these events, in order. */
export async function toldOf(
  client: Queryable,
  { doors, engine }: { doors: DoorEvents; engine: Pick<Engine, 'db' | 'schema'> },
  events: readonly StreamEvent[],
): Promise<Told[]> {
  const open = events.filter(
    ({ channel, space }) => !INTERNAL.includes(channel) && !INTERNAL.includes(space),
  );
  const said = await doors.say(client, open);
  const facts = await factsOf(client, engine, open);
  return open.flatMap((event, n) => {
    const door = said[n];
    const own = event.type === 'NOTED' ? noteOf(event) : actionOf(event, facts[n] as Facts);
    return [
      ...(own ? [told(event, own, `action/${event.actionId}`)] : []),
      // an order may have several actions, one after the other
      ...(door && isKnown(door.type) ? [told(event, { ...door, type: door.type }, door.subject)] : []),
    ];
  });
}

type Said = Pick<Told, 'type' | 'subject' | 'data'>;

/** `key`: events with the same key are delivered in order. */
function told(event: StreamEvent, said: Said, key: string): Told {
  const { at, cursor, eventId, kind, laneName, space, tags, tenantId } = event;
  return {
    ...said,
    ...{ at, cursor, kind, tags, tenantId },
    // event numbers are reused after a restore, but not in the same millisecond
    id: `evt_${eventId}-${at.getTime().toString(36)}-${said.type}`,
    key: event.actionId === null ? (said.subject ?? said.type) : key,
    device: space === 'device' ? laneName : null,
  };
}

function actionOf(event: StreamEvent, facts: Facts): Said | null {
  const of = OF_ACTIONS[event.type];
  if (!of || event.channel === null) return null;
  const { actionId, at, attempt, channel, kind, laneName, reason, space, tags, worker } = event;
  const { type, state } = of;
  const isOpen = state === 'pending' || state === 'claimed';
  const startedAt = state === 'claimed' ? at : facts.startedAt;
  return {
    type,
    subject: `action/${actionId}`,
    data: {
      ...{ actionId, target: laneName === null ? null : `${space}:${laneName}`, kind, channel },
      ...{ state, tags, attempt },
      ...(worker === null ? {} : { worker }),
      ...(reason === null ? {} : { reason }),
      ...(facts.error === null ? {} : { error: facts.error }),
      createdAt: facts.createdAt?.toISOString() ?? null,
      ...(startedAt === null ? {} : { startedAt: startedAt.toISOString() }),
      ...(isOpen ? {} : { endedAt: at.toISOString() }),
    },
  };
}

const SUBJECTS = [
  ['deviceId', 'device'],
  ['batchId', 'batch'],
  ['taskId', 'task'],
] as const;

function noteOf({ note, reason }: StreamEvent): Said | null {
  const data = (note ?? {}) as Record<string, unknown>;
  const [field, noun] = SUBJECTS.find(([name]) => data[name] !== undefined) ?? [];
  const subject = field ? `${noun}/${data[field]}` : null;
  if (reason === POLICY_NOTE)
    return data.policy === data.previousPolicy ? null : { type: 'device.state_changed', subject, data };
  return reason !== null && NOTES.includes(reason) && isKnown(reason)
    ? { type: reason, subject, data }
    : null;
}

function isKnown(type: string): type is WebhookEvent {
  return (WEBHOOK_EVENTS as readonly string[]).includes(type);
}

/** The body that is sent: a CloudEvent in JSON, as Standard Webhooks recommends. */
export function cloudEvent({
  at,
  data,
  id,
  subject,
  tenantId,
  type,
}: Pick<Told, 'at' | 'data' | 'id' | 'subject' | 'tenantId'> & { type: string }) {
  return {
    ...{ specversion: '1.0', id, source: `/tenants/${tenantId}`, type },
    ...(subject === null ? {} : { subject }),
    ...{ time: at.toISOString(), datacontenttype: 'application/json', data },
  };
}
export type CloudEvent = ReturnType<typeof cloudEvent>;
