import { INSTALL, kiosksOf, type Stage, withMind } from './stage.ts';
import { KINDS, workOf } from './work.ts';

/** What happens during the first look at the console, second by second, and again later. */
const SECOND = 1_000;
const AGAIN_MS = 360 * SECOND;
/** The rack whose runner dies, if there are that many. */
const RACK = 4;

export function playFirstMinute(stage: Stage, order: (type: 'VIP' | 'NORMAL') => Promise<void>): void {
  const { calls, devices, fleet, people, plan, rhythm, runners } = stage;
  const { as, client } = calls;
  const random = plan.random('story');
  const wakes = withMind(stage, 'sleepy')[0];
  const web = fleet.hosts.find(({ away }) => !away);

  // one that slept takes its waiting actions in order
  if (wakes)
    rhythm.after(10 * SECOND, async () => {
      for (const kind of KINDS)
        await client.checkin.assign({
          ...as(people.ana),
          params: { id: wakes.id },
          body: workOf(kind, random),
        });
      await devices.visit(wakes);
    });

  rhythm.after(20 * SECOND, async () => runners[Math.min(RACK, runners.length - 1)]?.die(40 * SECOND));
  rhythm.after(30 * SECOND, () => order('VIP'));

  if (web)
    rhythm.after(40 * SECOND, async () => {
      for (const kind of ['restart', 'stop', 'start'] as const)
        await client.hostActions.enqueue({
          ...as(people.ana),
          params: { hostId: web.id },
          body: { serviceId: web.services[0] as string, kind },
        });
    });

  // version 7 gets worse until the batch aborts by its rule
  const words = 'the new version does not start: exit code 139';
  rhythm.after(30 * SECOND, async () => devices.spoil(INSTALL, 45, words));
  rhythm.after(120 * SECOND, async () => devices.spoil(INSTALL, 1, words));

  let version = 0;
  const kiosks = kiosksOf(stage);
  if (kiosks.length > 0)
    rhythm.every(
      () => AGAIN_MS,
      () => {
        version += 1;
        return client.batches.create({
          ...as(people.ana),
          body: {
            name: `version 7.0.${version}`,
            targets: { deviceIds: kiosks.map(({ id }) => id) },
            action: { kind: INSTALL, payload: { version: `7.0.${version}` }, maxAttempts: 2 },
            ratePerMinute: 90,
            abort: { failurePercent: 10, minimumSample: 50 },
          },
        });
      },
    );
}
