import type { Action, ActionWithEvents } from '@muster/contracts';
import { Option } from 'commander';
import { table } from '../../commands/table.ts';
import { EXIT, UsageError } from './exit-codes.ts';
import { type Group, OPTIONS, pages, withMore } from './run.ts';
import type { Session } from './session.ts';
import { ago, why } from './words.ts';

interface Filter {
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
  readonly state?: 'pending';
  readonly all?: boolean;
  readonly limit?: number;
}

const STATES = 'pending claimed succeeded failed cancelled expired unfinished finished'.split(' ');

export function actionCommands(group: Group): void {
  const filters = [OPTIONS.lane(), OPTIONS.kind(), OPTIONS.tag()];
  group.add(
    'list',
    'Show actions, newest first, each with why it has not run yet or how it ended',
    [
      new Option('--state <state>', 'in this state').choices(STATES),
      ...[...filters, OPTIONS.limit(), OPTIONS.all()],
    ],
    list,
  );
  group.add('show <id>', 'Show one action: why it waits, every attempt, payload and result', [], show);
  const acting = [...filters, OPTIONS.reason(), OPTIONS.yes()];
  group.add(
    'cancel [ids...]',
    'Cancel these actions, or all that match; a running one is asked to stop',
    acting,
    cancel,
  );
  group.add(
    'redrive [ids...]',
    'Queue these dead letters again, or all that match',
    [...acting, OPTIONS.clearError()],
    redrive,
  );
  group.add(
    'to-front <id>',
    'Let an action go before the others of its class in its lane',
    [OPTIONS.reason()],
    toFront,
  );
}

async function list(session: Session, { all, limit, ...query }: Listing): Promise<number> {
  const read = async (place: object) => {
    const { body } = await session.client.actions.list({ query: { ...query, ...place } });
    return { rows: body.actions, cursor: body.cursor };
  };
  const { rows, cursor } = await pages(read, { ...(all ? { all } : {}), limit: limit ?? 50 });
  session.show({ actions: rows, cursor }, () =>
    withMore(
      table(
        ['ID', 'STATE', 'KIND', 'TARGET', 'AGE', 'WHY'],
        rows.map((one) => [
          ...[one.id, one.state, one.kind, targetOf(one)],
          ...[ago(one.createdAt, session.now()), why(one)],
        ]),
      ),
      cursor,
    ),
  );
  return EXIT.done;
}

const targetOf = ({ space, lane }: Pick<Action, 'space' | 'lane'>) => (lane ? `${space}:${lane}` : null);

async function show(session: Session, id: string): Promise<number> {
  const { body } = await session.client.actions.get({ params: { id } });
  session.show(body, () => shown(body, session.now()));
  return EXIT.done;
}

function shown(action: ActionWithEvents, now: Date): string[] {
  const json = (value: unknown) => (value === undefined ? '-' : JSON.stringify(value));
  return [
    `${action.kind} ${action.id}  ${action.state}  ${targetOf(action) ?? ''}`,
    `why      ${why(action)}`,
    `created  ${action.createdAt} (${ago(action.createdAt, now)}) by ${action.createdBy ?? '-'}`,
    `attempt  ${action.attempt}, ${action.failures} of ${action.maxAttempts} failed`,
    `payload  ${json(action.payload)}`,
    ...(action.result === undefined ? [] : [`result   ${json(action.result)}`]),
    '',
    ...table(
      ['AT', 'EVENT', 'ATTEMPT', 'WORKER', 'REASON'],
      action.events.map((event) => [
        ...[event.at, event.type, String(event.attempt)],
        ...[event.worker ?? null, event.reason ?? null],
      ]),
    ),
  ];
}

/** Ids, or a filter and the word that it is meant: a forgotten id must not touch everything. */
function chosen(ids: readonly string[], { yes, lane, kind, tag }: Acting) {
  const filter = { ...(lane ? { lane } : {}), ...(kind ? { kind } : {}), ...(tag ? { tag } : {}) };
  const isFiltered = Object.keys(filter).length > 0;
  if (ids.length > 0 && isFiltered) throw new UsageError('Give ids or a filter, not both.');
  if (ids.length > 0) return { ids: [...ids] };
  if (!isFiltered) throw new UsageError('Give the ids of actions, or a filter: --lane, --kind, --tag.');
  if (!yes) throw new UsageError('This is for all that match. Say so with --yes.');
  return filter;
}

async function cancel(session: Session, ids: string[], options: Acting): Promise<number> {
  const reason = options.reason ? { reason: options.reason } : {};
  const { body } = await session.client.actions.cancelMatching({
    body: { ...chosen(ids, options), ...reason },
  });
  session.show(body, () => [`${body.cancelled} cancelled, ${body.requested} running ones asked to stop.`]);
  return EXIT.done;
}

async function redrive(session: Session, ids: string[], options: Acting): Promise<number> {
  const reason = options.reason ? { reason: options.reason } : {};
  const clear = options.clearError ? { clearError: true } : {};
  const { body } = await session.client.actions.redriveMatching({
    body: { ...chosen(ids, options), ...reason, ...clear },
  });
  session.show(body, () => [
    `${body.redriven} queued again, ${body.refused} refused.`,
    ...body.refusals.map(({ id, code, error }) => `${id}: ${error} (${code})`),
  ]);
  return body.refused > 0 ? EXIT.refused : EXIT.done;
}

async function toFront(session: Session, id: string, options: { reason?: string }): Promise<number> {
  const { body } = await session.client.actions.moveToFront({
    params: { id },
    body: options.reason ? { reason: options.reason } : {},
  });
  session.show(body, () => [`${body.outcome}: ${body.kind} ${body.id}, ${why(body)}`]);
  return EXIT.done;
}
