import { WEBHOOK_EVENTS, type WebhookEvent } from '@muster/contracts/words';
import type { WebhookRow } from './queries.ts';
import type { Told } from './told-events.ts';

/**
 * The webhooks of one tenant that an event is looked up for: those without a filter, and those filed under a value of
 * it.
 */
interface ByValue<Row> {
  readonly unfiltered: Row[];
  readonly of: Map<string, Row[]>;
}

/** What decides whether a webhook wants an event. */
type Wish = Pick<WebhookRow, 'events' | 'filter' | 'fromAt' | 'tenantId'>;

/**
 * Which webhooks want an event. Each is filed under the values of one part of its filter, so the cost of an event does
 * not depend on the number of webhooks it does not match.
 */
export class Matching<Row extends Wish = WebhookRow> {
  readonly #of = new Map<string, ByValue<Row>>();
  readonly #tenants: ReadonlySet<number>;

  constructor(webhooks: readonly Row[]) {
    this.#tenants = new Set(webhooks.map(({ tenantId }) => tenantId));
    for (const webhook of webhooks)
      for (const type of eventsOf(webhook)) {
        const key = `${webhook.tenantId} ${type}`;
        const place: ByValue<Row> = this.#of.get(key) ?? { unfiltered: [], of: new Map() };
        this.#of.set(key, place);
        const values = filedUnder(webhook);
        if (values === null) place.unfiltered.push(webhook);
        else
          for (const value of new Set(values)) {
            const same = place.of.get(value);
            if (same) same.push(webhook);
            else place.of.set(value, [webhook]);
          }
      }
  }

  get isEmpty(): boolean {
    return this.#tenants.size === 0;
  }

  /** Whether any webhook of this tenant wants anything. */
  isFor(tenantId: number): boolean {
    return this.#tenants.has(tenantId);
  }

  of(told: Told): Row[] {
    const place = this.#of.get(`${told.tenantId} ${told.type}`);
    if (!place) return [];
    const found = new Set(place.unfiltered);
    for (const value of valuesOf(told)) for (const webhook of place.of.get(value) ?? []) found.add(webhook);
    return [...found].filter((webhook) => told.at >= webhook.fromAt && fits(webhook, told));
  }
}

function eventsOf({ events }: Wish): ReadonlySet<WebhookEvent> {
  return new Set(
    events.flatMap((event) =>
      event.endsWith('.*')
        ? WEBHOOK_EVENTS.filter((one) => one.startsWith(event.slice(0, -1)))
        : [event as WebhookEvent],
    ),
  );
}

/** One part is enough: the part that matches the fewest events comes first. */
function filedUnder({ filter: { devices, hosts, kinds, tags } }: Wish): string[] | null {
  if (devices) return devices.map((id) => `device ${id}`);
  if (hosts) return hosts.map((id) => `tag host:${id}`);
  if (tags) return tags.map((tag) => `tag ${tag}`);
  return kinds?.map((kind) => `kind ${kind}`) ?? null;
}

function valuesOf({ device, kind, tags }: Told): string[] {
  return [
    ...(device === null ? [] : [`device ${device}`]),
    ...(kind === null ? [] : [`kind ${kind}`]),
    ...tags.map((tag) => `tag ${tag}`),
  ];
}

function fits({ filter: { devices, hosts, kinds, tags } }: Wish, told: Told): boolean {
  return (
    (!devices || (told.device !== null && devices.includes(told.device))) &&
    (!hosts || hosts.some((id) => told.tags.includes(`host:${id}`))) &&
    (!kinds || (told.kind !== null && kinds.includes(told.kind))) &&
    (!tags || tags.some((tag) => told.tags.includes(tag)))
  );
}
