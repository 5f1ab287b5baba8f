import { expect, test } from 'vitest';
import { Matching } from '../src/features/webhooks/matching.ts';
import type { WebhookRow } from '../src/features/webhooks/queries.ts';
import type { Told } from '../src/features/webhooks/told-events.ts';

/** Which webhooks an event is sent to. */
const NOW = new Date(0);
const told = (more: Partial<Told> = {}): Told => ({
  ...{
    tenantId: 1,
    type: 'action.created',
    id: 'e',
    key: 'k',
    at: NOW,
    cursor: 'c',
    subject: null,
    data: {},
  },
  ...{ kind: 'print', tags: ['host:3', 'paper'], device: '12', ...more },
});

let looks = 0;
function webhook(webhookId: string, filter: WebhookRow['filter'], events = ['action.created'], tenantId = 1) {
  return {
    ...{ tenantId, webhookId, events, fromAt: NOW },
    get filter() {
      looks += 1;
      return filter;
    },
  };
}
const found = (webhooks: ReturnType<typeof webhook>[], event: Told) =>
  new Matching(webhooks).of(event).map(({ webhookId }) => webhookId);

test.each([
  [{}, true],
  [{ kinds: ['fax', 'print'] }, true],
  [{ kinds: ['fax'] }, false],
  [{ tags: ['ink', 'paper'] }, true],
  [{ hosts: ['3'] }, true],
  [{ hosts: ['4'] }, false],
  [{ devices: ['12'] }, true],
  [{ devices: ['12'], kinds: ['fax'] }, false],
  [{ devices: ['1', '12'], kinds: ['print'], tags: ['paper'], hosts: ['3'] }, true],
  [{ hosts: ['3'], tags: ['ink'] }, false],
])('every named part of the filter %j must match', (filter, fits) => {
  expect(found([webhook('1', filter)], told())).toEqual(fits ? ['1'] : []);
});

test('an event without a field does not match a filter on it', () => {
  const event = told({ kind: null, device: null, tags: [] });
  expect(
    [{ kinds: ['print'] }, { devices: ['12'] }, { tags: ['paper'] }, { hosts: ['3'] }].flatMap((filter) =>
      found([webhook('1', filter)], event),
    ),
  ).toEqual([]);
});

test('a wildcard means all events of its noun; each webhook is found once, and only those of its tenant', () => {
  const all = [
    webhook('1', {}, ['action.*', 'action.created']),
    webhook('2', {}, ['order.*']),
    webhook('3', {}, ['action.created'], 2),
    webhook('4', { tags: ['paper', 'host:3'] }),
  ];
  expect(found(all, told())).toEqual(['1', '4']);
  expect(found(all, told({ type: 'order.deleted' }))).toEqual(['2']);
});

test('no event before a webhook was created is sent to it', () => {
  const late = { ...webhook('1', {}), fromAt: new Date(1), filter: {} };
  expect(found([late], told())).toEqual([]);
  expect(found([late], told({ at: new Date(1) }))).toEqual(['1']);
});

test('the cost of an event does not depend on the webhooks that it does not match', () => {
  const many = Array.from({ length: 10_000 }, (_, n) => webhook(String(n + 2), { kinds: [`kind ${n}`] }));
  const matching = new Matching([webhook('1', { kinds: ['print'] }), ...many]);
  looks = 0;
  expect(matching.of(told()).map(({ webhookId }) => webhookId)).toEqual(['1']);
  expect(looks).toBe(1);
});
