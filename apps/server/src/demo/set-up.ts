import type { Calls } from './calls.ts';
import type { People } from './people.ts';
import type { Receiver } from './receiver.ts';

/** Workflows and webhooks, as if set up some time ago. */
const MISSED_MS = 3 * 3_600_000;

export async function setUp(
  { as, client }: Calls,
  people: People,
  receiver: Receiver,
  until: Date,
): Promise<void> {
  const ana = as(people.ana);
  const admin = as(people.admin);
  const workflow = (name: string, cron: string, kind: string, tag: string) =>
    client.workflows.create({
      ...ana,
      body: {
        name,
        schedule: { cron },
        targets: { tags: [tag] },
        action: { kind, supersede: { key: kind, mode: 'keep-first' } },
      },
    });
  // the simulated past stops only at quarters of an hour; a run in between is missed
  await workflow('Prices, every quarter of an hour', '*/15 * * * *', 'SYNC', 'showroom');
  await workflow('Restart before opening', '0 5 * * 1-6', 'REBOOT', 'showroom');
  const missedAt = new Date(until.getTime() - MISSED_MS).getUTCHours();
  await workflow('Battery report', `7 ${missedAt} * * *`, 'BATTERY', 'showroom');
  await client.webhooks.create({
    ...admin,
    body: { name: 'stock', url: `${receiver.url}/stock`, events: ['batch.finished', 'task.finished'] },
  });
  await client.webhooks.create({
    ...admin,
    body: {
      name: 'tickets',
      url: `${receiver.url}/shaky`,
      events: ['action.failed', 'device.state_changed'],
    },
  });
  await client.webhooks.create({
    ...admin,
    body: { name: 'billing', url: `${receiver.url}/billing`, events: ['batch.finished', 'order.deleted'] },
  });
}
