import { liveAsHost } from './host.ts';
import { keepTasksInLine } from './past.ts';
import { manage } from './phones.ts';
import type { Stage } from './stage.ts';
import { KINDS, workOf } from './work.ts';

/** Live operation: the whole fleet runs, and a program and ana give it work. */
export function liveOn(stage: Stage): void {
  const { calls, devices, fleet, people, plan, rhythm, runners } = stage;
  const { as, client } = calls;
  const random = plan.random('day');
  for (const device of fleet.devices) devices.live(device);
  for (const host of fleet.hosts) liveAsHost(calls, rhythm, plan.random(host.name), host);
  for (const runner of runners) runner.live();
  manage(calls, rhythm, plan.random('phones'), fleet.phones, people.ana);

  const usual = fleet.devices.filter(({ mind }) => mind !== 'away' && mind !== 'broken');
  if (usual.length > 0)
    rhythm.every(
      () => random.between(800, 3_000),
      () =>
        client.checkin.assign({
          ...as(people.program),
          params: { id: random.pick(usual).id },
          body: workOf(random.pick(KINDS), random),
        }),
    );

  const awake = fleet.hosts.filter(({ away }) => !away);
  if (awake.length > 0)
    rhythm.every(
      () => random.between(4_000, 12_000),
      async () => {
        const host = random.pick(awake);
        // several services at once: on a host with one slot, the others wait for it
        for (const serviceId of host.services.slice(0, Math.ceil(random.between(0, 3))))
          await client.hostActions.enqueue({
            ...as(people.ana),
            params: { hostId: host.id },
            body: { serviceId, kind: random.pick(['start', 'restart', 'restart', 'stop'] as const) },
          });
      },
    );
  for (const { id, services, away } of fleet.hosts)
    if (away)
      rhythm.after(0, () =>
        client.hostActions.enqueue({
          ...as(people.ana),
          params: { hostId: id },
          body: { serviceId: services[0] as string, kind: 'restart' },
        }),
      );

  if (runners.length > 0)
    rhythm.every(
      () => 5_000,
      () => keepTasksInLine(stage, random),
    );
}
