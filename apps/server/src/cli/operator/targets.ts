import { Option } from 'commander';
import { table } from '../../commands/table.ts';
import { ASSIGN_OPTIONS, type Assigning, assigned, bodyOf, keyOf } from './assign.ts';
import { EXIT, NotFoundError } from './exit-codes.ts';
import { actionsOf, deviceIdOf, hostIdOf } from './named.ts';
import { type Group, OPTIONS, pages, withMore } from './run.ts';
import type { Session } from './session.ts';
import { ago, called, stateWord, why } from './words.ts';

interface Presence {
  readonly online?: boolean;
  readonly offline?: boolean;
}

interface NamedListing extends Listing, Presence {
  readonly text?: string;
}

interface Listing {
  readonly all?: boolean;
  readonly limit?: number;
}

const listing = () => [OPTIONS.limit(), OPTIONS.all()];
const at = ({ all, limit }: Listing) => ({ ...(all ? { all } : {}), limit: limit ?? 50 });
const presenceOptions = (what: string) => [
  new Option('--online', `only ${what} that are online`).conflicts('offline'),
  new Option('--offline', `only ${what} that are offline`),
];
const named = (what: string) => [
  new Option('--text <part>', 'part of the name'),
  ...presenceOptions(what),
  ...listing(),
];
const filterOf = ({ text, online, offline }: NamedListing) => ({
  ...(text ? { text } : {}),
  ...(online ? { online: true } : offline ? { online: false } : {}),
});
const presence = (online: boolean, seen: string | null, now: Date) =>
  online ? 'online' : seen ? `offline, ${ago(seen, now)}` : 'never seen';

export function deviceCommands(group: Group): void {
  group.add(
    'list',
    'List devices and how many actions wait for each',
    [
      new Option('--text <part>', 'part of the name, external id or serial number'),
      OPTIONS.tag(),
      new Option('--state <state>', 'only in this state').choices(['ok', 'error']),
      ...presenceOptions('devices'),
      ...listing(),
    ],
    listDevices,
  );
  group.add('show <device>', 'Show a device, by id or name, and why its queue waits', [], showDevice);
  group.add('assign <device> <kind>', 'Queue an action for a device', ASSIGN_OPTIONS(), assignToDevice);
  group.add(
    'pause <device>',
    'Pause the lane of a device; running actions continue',
    [],
    changeLane('pause'),
  );
  group.add('resume <device>', 'Resume the lane of a device', [], changeLane('resume'));
  group.add('clear-error <device>', 'Clear the error of a device', [], clearError);
}

interface DeviceListing extends NamedListing {
  readonly tag?: string;
  readonly state?: 'ok' | 'error';
}

async function listDevices(session: Session, options: DeviceListing): Promise<number> {
  const { tag, state } = options;
  const query = { ...filterOf(options), ...(tag ? { tag } : {}), ...(state ? { state } : {}) };
  const { rows, cursor } = await pages(async (place) => {
    const { body } = await session.client.devices.list({ query: { ...query, ...place } });
    return { rows: body.devices, cursor: body.cursor };
  }, at(options));
  session.show({ devices: rows, cursor }, () =>
    withMore(
      table(
        ['ID', 'NAME', 'STATE', 'PRESENCE', 'WAITING', 'RUNNING'],
        rows.map((one) => [
          ...[one.id, one.name, one.stateReason ? `${one.state}: ${one.stateReason}` : one.state],
          presence(one.online, one.lastSeenAt, session.now()),
          ...[
            String(one.queueDepth),
            one.current ? called(one.current.kind, 'action', one.current.id) : null,
          ],
        ]),
      ),
      cursor,
    ),
  );
  return EXIT.done;
}

async function showDevice(session: Session, device: string): Promise<number> {
  const params = { id: await deviceIdOf(session, device) };
  const [{ body }, { body: queue }] = await Promise.all([
    session.client.devices.get({ params }),
    session.client.checkin.queue({ params }),
  ]);
  const running = queue.actions.filter(({ status }) => stateWord(status) === 'running');
  const held = session.json ? [] : await actionsOf(session, running);
  session.show({ ...body, queue: queue.actions }, () => [
    `${called(body.name, 'device', body.id)}  ${presence(body.online, body.lastSeenAt, session.now())}`,
    ...(body.state === 'error' ? [`in error: ${body.stateReason ?? '-'}`] : []),
    ...(body.pausedAt ? [`paused by ${body.pausedBy}, ${ago(body.pausedAt, session.now())}`] : []),
    `tags: ${body.tags.join(', ') || '-'}`,
    '',
    ...(queue.actions.length === 0
      ? ['Nothing waits.']
      : table(
          ['PLACE', 'ID', 'KIND', 'STATE', 'REASON'],
          queue.actions.map((one) => [
            String(one.position),
            one.id,
            one.kind,
            stateWord(one.status),
            why(held.find(({ id }) => id === one.id) ?? one, session.now()),
          ]),
        )),
  ]);
  return EXIT.done;
}

async function assignToDevice(session: Session, device: string, kind: string, options: Assigning) {
  const params = { id: await deviceIdOf(session, device) };
  const { body } = await session.client.checkin.assign({
    ...{ params, body: bodyOf(kind, options) },
    ...keyOf(options),
  });
  return assigned(session, body, options);
}

const changeLane = (verb: 'pause' | 'resume') => async (session: Session, device: string) => {
  const params = { id: await deviceIdOf(session, device) };
  const { body } = await session.client.devices[verb]({ params, body: {} });
  session.show(body, () => [
    `${called(body.name, 'device', body.id)}  ${body.pausedAt ? `paused by ${body.pausedBy}` : 'not paused'}`,
  ]);
  return EXIT.done;
};

async function clearError(session: Session, device: string): Promise<number> {
  const { body } = await session.client.devices.clearError({
    params: { id: await deviceIdOf(session, device) },
  });
  session.show(body, () => [`${called(body.name, 'device', body.id)}  ${body.state}`]);
  return EXIT.done;
}

export function hostCommands(group: Group): void {
  group.add('list', 'List hosts', named('hosts'), async (session: Session, options: NamedListing) => {
    const { rows, cursor } = await pages(async (place) => {
      const { body } = await session.client.hosts.list({ query: { ...filterOf(options), ...place } });
      return { rows: body.hosts, cursor: body.cursor };
    }, at(options));
    session.show({ hosts: rows, cursor }, () =>
      withMore(
        table(
          // not slots: the services of a host run beside each other, up to this limit if it has one
          ['ID', 'NAME', 'PRESENCE', 'AT ONCE'],
          rows.map((one) => [
            ...[one.id, one.name, presence(one.online, one.lastSeenAt, session.now())],
            one.slots === null ? 'no limit' : `at most ${one.slots}`,
          ]),
        ),
        cursor,
      ),
    );
    return EXIT.done;
  });
  group.add(
    'assign <host> <service> <kind>',
    'Queue start, stop or restart of a service, given by unit or id',
    [
      new Option('--urgent', 'ahead of normal actions'),
      new Option('--key <key>', 'repeating the key assigns nothing new'),
      OPTIONS.wait(),
    ],
    assignToService,
  );
}

async function assignToService(
  session: Session,
  host: string,
  service: string,
  kind: 'start',
  options: Assigning,
): Promise<number> {
  const hostId = await hostIdOf(session, host);
  const { body: found } = await session.client.services.list({ params: { hostId } });
  const one = found.services.find(({ id, unitName }) => id === service || unitName === service);
  if (!one)
    throw new NotFoundError(
      `Host ${host} has no service ${service}. Its services: ${found.services.map(({ unitName }) => unitName).join(', ') || 'none'}.`,
    );
  const { body } = await session.client.hostActions.enqueue({
    params: { hostId },
    body: { serviceId: one.id, kind, ...(options.urgent ? { priority: 'urgent' as const } : {}) },
    ...keyOf(options),
  });
  return assigned(session, body, options);
}

export function laneCommands(group: Group): void {
  group.add(
    'assign <lane> <kind>',
    'Queue an action in a lane; the lane is created on first use',
    ASSIGN_OPTIONS(),
    async (session: Session, lane: string, kind: string, options: Assigning) => {
      const call = { params: { lane }, body: bodyOf(kind, options), ...keyOf(options) };
      return assigned(session, (await session.client.actions.enqueue(call)).body, options);
    },
  );
  const change = (verb: 'pauseLane' | 'resumeLane') => async (session: Session, lane: string) => {
    const { body } = await session.client.actions[verb]({ params: { lane }, body: {} });
    session.show(body, () => [`${body.lane}  ${body.paused ? 'paused' : 'not paused'}`]);
    return EXIT.done;
  };
  group.add('pause <lane>', 'Pause a lane', [], change('pauseLane'));
  group.add('resume <lane>', 'Resume a lane', [], change('resumeLane'));
}

export function pcCommands(group: Group): void {
  group.add('list', 'List PCs', named('PCs'), async (session: Session, options: NamedListing) => {
    const { rows, cursor } = await pages(async (place) => {
      const { body } = await session.client.pcs.list({ query: { ...filterOf(options), ...place } });
      return { rows: body.pcs, cursor: body.cursor };
    }, at(options));
    session.show({ pcs: rows, cursor }, () =>
      withMore(
        table(
          ['ID', 'NAME', 'PRESENCE', 'SLOTS'],
          rows.map((one) => [
            ...[one.id, one.name, presence(one.online, one.lastSeenAt, session.now())],
            String(one.slots),
          ]),
        ),
        cursor,
      ),
    );
    return EXIT.done;
  });
}
