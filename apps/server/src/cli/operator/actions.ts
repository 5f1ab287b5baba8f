import type { Action, ActionWithEvents, HostAction } from '@muster/contracts';
import { Option } from 'commander';
import { table } from '../../commands/table.ts';
import { EXIT, UsageError } from './exit-codes.ts';
import { actionsOf, hostIdOf, laneOf, pcIdOf } from './named.ts';
import { type Group, OPTIONS, pages, withMore } from './run.ts';
import type { Session } from './session.ts';
import { refusalLines, untouched } from './untouched.ts';
import { ago, called, stateWord, why } from './words.ts';

interface Filter {
  readonly device?: string;
  readonly lane?: string;
  readonly kind?: string;
  readonly tag?: string;
}
interface Acting extends Filter {
  readonly reason?: string;
  readonly clearError?: boolean;
  readonly yes?: boolean;
}
interface Listing extends Filter {
  readonly host?: string;
  readonly pc?: string;
  readonly state?: 'pending';
  readonly all?: boolean;
  readonly internal?: boolean;
  readonly limit?: number;
}

/** Options that the routes of a host or a PC do not take. */
const NOT_WITH_TARGET = ['device', 'lane', 'kind', 'tag'];
const STATES = 'pending claimed running succeeded failed cancelled expired unfinished finished'.split(' ');

export function actionCommands(group: Group): void {
  const filters = [OPTIONS.device(), OPTIONS.lane(), OPTIONS.kind(), OPTIONS.tag()];
  group.add(
    'list',
    'List actions, newest first, and why each has not run yet or how it ended',
    [
      new Option('--state <state>', 'only in this state').choices(STATES),
      new Option('--host <host>', 'only of this host (id or name)').conflicts(NOT_WITH_TARGET),
      new Option('--pc <pc>', 'only of this PC (id or name)').conflicts([...NOT_WITH_TARGET, 'host']),
      new Option('--internal', "also the server's own actions"),
      ...[...filters, OPTIONS.limit(), OPTIONS.all()],
    ],
    list,
  );
  group.add('show <id>', 'Show an action: why it waits, its attempts, payload and result', [], show);
  const acting = [...filters, OPTIONS.reason(), OPTIONS.yes()];
  group.add(
    'cancel [ids...]',
    'Cancel these actions, or all that match; running ones are asked to stop',
    acting,
    cancel,
  );
  group.add(
    'redrive [ids...]',
    'Redrive these dead letters, or all that match',
    [...acting, OPTIONS.clearError()],
    redrive,
  );
  group.add(
    'make-due [ids...]',
    'Make these actions, or all that match, due now instead of waiting for their time or retry',
    acting,
    makeDue,
  );
  group.add(
    'to-front <id>',
    'Move an action to the front of its priority class in its lane',
    [OPTIONS.reason()],
    toFront,
  );
}

async function list(session: Session, options: Listing): Promise<number> {
  const { all, internal, limit, host, pc, device, lane, ...rest } = options;
  // the wire says claimed, people running
  const said: string | undefined = rest.state;
  const state = (said === 'running' ? 'claimed' : said) as Listing['state'];
  let looked: number | undefined;
  const query = { ...rest, ...(state ? { state } : {}), ...(internal ? {} : { internal: 'false' }) };
  const read = host
    ? await readHost(session, host, state)
    : pc
      ? await readPc(session, pc, state)
      : readAll(session, { ...query, ...(await laneOf(session, options)) }, (number) => {
          looked = number;
        });
  const { rows, cursor } = await pages(read, { ...(all ? { all } : {}), limit: limit ?? 50 });
  // only the route of a host answers with rows of its own, which have the ids of service and host, not their names
  const shown = host && !session.json ? await actionsOf(session, rows) : (rows as Action[]);
  session.show({ actions: rows, cursor }, () =>
    withMore(
      table(
        ['ID', 'STATE', 'KIND', 'TARGET', 'NAME', 'AGE', 'REASON'],
        shown.map((one) => [
          ...[one.id, stateWord(one.state), one.kind, ...targetOf(one)],
          ...[ago(one.createdAt, session.now()), why(one, session.now())],
        ]),
      ),
      cursor,
      rows.length < (limit ?? 50) ? looked : undefined,
    ),
  );
  return EXIT.done;
}

type Read = Parameters<typeof pages<Action | HostAction>>[0];

const readAll =
  (session: Session, query: object, tellLooked: (looked: number | undefined) => void): Read =>
  async (place) => {
    const { body } = await session.client.actions.list({ query: { ...query, ...place } });
    tellLooked(body.looked);
    return { rows: body.actions, cursor: body.cursor };
  };

async function readHost(session: Session, host: string, state: Listing['state']): Promise<Read> {
  const params = { hostId: await hostIdOf(session, host) };
  return async (place) => {
    const query = { ...(state ? { state } : {}), ...place };
    const { body } = await session.client.hostActions.list({ params, query });
    return { rows: body.actions, cursor: body.cursor };
  };
}

async function readPc(session: Session, pc: string, state: Listing['state']): Promise<Read> {
  const params = { id: await pcIdOf(session, pc) };
  await session.client.pcs.get({ params });
  return async (place) => {
    const query = { ...(state ? { state } : {}), ...place };
    const { body } = await session.client.pcs.actions({ params, query });
    return { rows: body.actions, cursor: body.cursor };
  };
}

/** The lane as the filters accept it, and the name of the target. */
const targetOf = ({ lane, space, targetName }: Pick<Action, 'space' | 'lane' | 'targetName'>) => [
  lane ? `${space}:${lane}` : null,
  targetName ?? null,
];

async function show(session: Session, id: string): Promise<number> {
  const { body } = await session.client.actions.get({ params: { id } });
  session.show(body, () => shown(body, session.now()));
  return EXIT.done;
}

function shown(action: ActionWithEvents, now: Date): string[] {
  const json = (value: unknown) => (value === undefined ? '-' : JSON.stringify(value));
  return [
    [called(action.kind, 'action', action.id), stateWord(action.state), ...targetOf(action)]
      .filter(Boolean)
      .join('  '),
    `reason   ${why(action, now)}`,
    `created  ${action.createdAt} (${ago(action.createdAt, now)}) by ${action.createdBy ?? '-'}`,
    // the number of failures is known while it may be tried again
    `attempt  ${action.attempt}${action.waitingFor ? `, ${action.failures} of ${action.maxAttempts} failed` : ''}`,
    `payload  ${json(action.payload)}`,
    ...(action.result === undefined ? [] : [`result   ${json(action.result)}`]),
    '',
    ...table(
      ['AT', 'EVENT', 'ATTEMPT', 'WORKER', 'REASON'],
      action.events.map((event) => [
        ...[event.at, event.type, String(event.attempt)],
        ...[event.workerName ?? event.worker ?? null, event.reason ?? null],
      ]),
    ),
  ];
}

/** Ids, or a filter with its confirmation: forgotten ids must not change everything. */
async function chosen(session: Session, ids: readonly string[], options: Acting) {
  const { device, kind, lane, tag, yes } = options;
  const isFiltered = [device, kind, lane, tag].some(Boolean);
  if (ids.length > 0 && isFiltered) throw new UsageError('Give ids or a filter, not both.');
  if (ids.length > 0) return { ids: [...ids] };
  if (!isFiltered)
    throw new UsageError('Give the ids of actions, or a filter: --device, --lane, --kind, --tag.');
  if (!yes) throw new UsageError('This applies to all that match. Confirm with --yes.');
  return { ...(await laneOf(session, options)), ...(kind ? { kind } : {}), ...(tag ? { tag } : {}) };
}

async function cancel(session: Session, ids: string[], options: Acting): Promise<number> {
  const reason = options.reason ? { reason: options.reason } : {};
  const { body } = await session.client.actions.cancelMatching({
    body: { ...(await chosen(session, ids, options)), ...reason },
  });
  const others = new Set(ids).size - body.cancelled - body.requested;
  const named = await untouched(session, ids, others, ['succeeded', 'failed', 'expired']);
  session.show(body, () => [
    `${body.cancelled} cancelled, ${body.requested} running ones asked to stop.`,
    ...named('had already ended', 'had already ended'),
  ]);
  return others > 0 ? EXIT.refused : EXIT.done;
}

async function redrive(session: Session, ids: string[], options: Acting): Promise<number> {
  const reason = options.reason ? { reason: options.reason } : {};
  const clear = options.clearError ? { clearError: true } : {};
  const { body } = await session.client.actions.redriveMatching({
    body: { ...(await chosen(session, ids, options)), ...reason, ...clear },
  });
  const others = new Set(ids).size - body.redriven - body.refused;
  const named = await untouched(session, ids, others, ['succeeded', 'cancelled', 'expired']);
  session.show(body, () => [
    `${body.redriven} redriven, ${body.refused + Math.max(0, ids.length > 0 ? others : 0)} refused.`,
    ...refusalLines(body.refusals),
    ...named('is not a dead letter', 'are not dead letters'),
  ]);
  return body.refused > 0 || others > 0 ? EXIT.refused : EXIT.done;
}

async function makeDue(session: Session, ids: string[], options: Acting): Promise<number> {
  const reason = options.reason ? { reason: options.reason } : {};
  const { body } = await session.client.actions.makeDueMatching({
    body: { ...(await chosen(session, ids, options)), ...reason },
  });
  const others = new Set(ids).size - body.due;
  const ended = ['succeeded', 'failed', 'cancelled', 'expired', 'claimed'];
  const named = await untouched(session, ids, others, ended);
  session.show(body, () => [
    `${body.due} due now.`,
    ...named('does not wait for a time', 'do not wait for a time'),
  ]);
  return others > 0 ? EXIT.refused : EXIT.done;
}

async function toFront(session: Session, id: string, options: { reason?: string }): Promise<number> {
  const { body } = await session.client.actions.moveToFront({
    params: { id },
    body: options.reason ? { reason: options.reason } : {},
  });
  session.show(body, () => [
    `${body.outcome}: ${called(body.kind, 'action', body.id)}, ${why(body, session.now())}`,
  ]);
  return EXIT.done;
}
