import { httpError } from '../../http/errors.ts';
import type { WebhookRow } from './queries.ts';

/** The parts of a filter an event can have a value for; all of them if it is not listed. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  'order.': ['kinds'],
  'device.': ['devices'],
  'batch.': [],
  'task.': [],
  'alert.': [],
};

/** A filter that excludes every requested event would never be noticed, so it is refused. */
export function refuseVain({ events, filter }: Pick<WebhookRow, 'events' | 'filter'>): void {
  const asked = Object.entries(filter).flatMap(([field, values]) => (values === undefined ? [] : field));
  const mayMatch = (event: string) => {
    const fields = Object.entries(FIELDS).find(([noun]) => event.startsWith(noun))?.[1];
    if (!fields) return true;
    const isOfOrders = event.startsWith('order.');
    // orders are actions of this kind, without host, device or tags
    if (isOfOrders && filter.kinds && !filter.kinds.includes('order')) return false;
    return asked.every((field) => fields.includes(field));
  };
  if (events.some(mayMatch)) return;
  throw httpError(
    'MUSTER_BAD_BODY',
    events.every((event) => event.startsWith('order.'))
      ? 'No event of an order matches this filter: orders only have the kind order.'
      : `No event of ${events.join(', ')} matches this filter: only actions have hosts, kinds and tags, and only actions and devices match devices.`,
  );
}
