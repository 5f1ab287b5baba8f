import { setTimeout as pause } from 'node:timers/promises';
import type { Batch } from '@muster/contracts';
import { Option } from 'commander';
import { table } from '../../commands/table.ts';
import { ASSIGN_OPTIONS, type Assigning, bodyOf, keyOf } from './assign.ts';
import { EXIT, UsageError } from './exit-codes.ts';
import { progress } from './progress.ts';
import { type Group, OPTIONS, pages, wholeNumber, withMore } from './run.ts';
import type { Session } from './session.ts';
import { ago } from './words.ts';

const LOOK_AGAIN_MS = 1_000;
const OVER: readonly string[] = ['cancelled', 'aborted', 'completed'];
/** One that was ended is over when its last device is. */
const isOver = ({ status, counts }: Batch) =>
  OVER.includes(status) && counts.waiting + counts.pending + counts.sent === 0;

export function batchCommands(group: Group): void {
  group.add('list', 'Show batches, newest first', [OPTIONS.limit(), OPTIONS.all()], list);
  group.add(
    'show <id>',
    'Show how far a batch is',
    [new Option('--watch', 'until it is over, with a progress bar; failures are exit code 6')],
    show,
  );
  group.add(
    'create <kind>',
    'One action for many devices',
    [
      new Option('--name <name>', 'what it is called'),
      new Option('--device <id...>', 'for these devices'),
      new Option('--tag <tag...>', 'for the devices that have all of these tags'),
      new Option('--everything', 'for all devices'),
      new Option('--per-minute <n>', 'so many a minute').argParser(wholeNumber(1, 1_000_000)),
      ...ASSIGN_OPTIONS().filter(({ long }) => long !== '--wait'),
      new Option('--watch', 'until it is over, with a progress bar; failures are exit code 6'),
    ],
    create,
  );
  const change = (verb: 'pause' | 'resume' | 'cancel') => async (session: Session, id: string) => {
    const { body } = await session.client.batches[verb]({ params: { id } });
    session.show(body, () => [line(body)]);
    return EXIT.done;
  };
  group.add('pause <id>', 'Hand out nothing more of a batch', [], change('pause'));
  group.add('resume <id>', 'Let a paused batch go on', [], change('resume'));
  group.add('cancel <id>', 'End a batch: what waits is cancelled, what runs is told', [], change('cancel'));
  group.add('retry <id>', 'Retry what failed and what never started', [OPTIONS.clearError()], retry);
}

const line = (batch: Batch) => `${batch.id}  ${batch.status}  ${progress(batch)}`;

async function list(session: Session, { all, limit }: { all?: boolean; limit?: number }): Promise<number> {
  const read = async (place: object) => {
    const { body } = await session.client.batches.list({ query: place });
    return { rows: body.batches, cursor: body.cursor };
  };
  const { rows, cursor } = await pages(read, { ...(all ? { all } : {}), limit: limit ?? 50 });
  session.show({ batches: rows, cursor }, () =>
    withMore(
      table(
        ['ID', 'NAME', 'STATUS', 'AGE', 'PROGRESS'],
        rows.map((one) => [
          ...[one.id, one.name, one.status, ago(one.createdAt, session.now())],
          progress(one),
        ]),
      ),
      cursor,
    ),
  );
  return EXIT.done;
}

async function show(session: Session, id: string, { watch }: { watch?: boolean }): Promise<number> {
  const { body } = await session.client.batches.get({ params: { id } });
  if (watch) return watched(session, body);
  session.show(body, () => [line(body)]);
  return EXIT.done;
}

/** Redraws one line where somebody looks at it; elsewhere only the end is told. */
async function watched(session: Session, first: Batch): Promise<number> {
  let batch = first;
  while (!isOver(batch)) {
    session.draw?.(line(batch));
    await pause(LOOK_AGAIN_MS, undefined, session.signal ? { signal: session.signal } : {});
    batch = (await session.client.batches.get({ params: { id: batch.id } })).body;
  }
  session.draw?.('');
  session.show(batch, () => [line(batch)]);
  return batch.counts.done === batch.total ? EXIT.done : EXIT.unsuccessful;
}

interface Creating extends Assigning {
  readonly name?: string;
  readonly device?: string[];
  readonly tag?: string[];
  readonly everything?: boolean;
  readonly perMinute?: number;
  readonly watch?: boolean;
}

function targetsOf({ device, tag, everything }: Creating) {
  const given = [device && { deviceIds: device }, tag && { tags: tag }, everything && { all: true as const }];
  const [one, second] = given.filter((targets) => targets !== undefined && targets !== false);
  if (!one || second) throw new UsageError('Say for whom, in one way: --device, --tag or --everything.');
  return one;
}

async function create(session: Session, kind: string, options: Creating): Promise<number> {
  const { name, perMinute, watch } = options;
  const { body: made } = await session.client.batches.create({
    body: {
      ...{ targets: targetsOf(options), action: bodyOf(kind, options) },
      ...(name ? { name } : {}),
      ...(perMinute ? { ratePerMinute: perMinute } : {}),
    },
    ...keyOf(options),
  });
  if (watch) return watched(session, (await session.client.batches.get({ params: { id: made.id } })).body);
  session.show(made, () => [`${made.id}  ${made.total} devices`]);
  return EXIT.done;
}

async function retry(session: Session, id: string, options: { clearError?: boolean }): Promise<number> {
  const body = options.clearError ? { clearError: true } : {};
  const { body: done } = await session.client.batches.retry({ params: { id }, body });
  session.show(done, () => [
    `${done.redriven} failed ones queued again, ${done.again} that never started, ${done.refused} refused.`,
  ]);
  return done.refused > 0 ? EXIT.refused : EXIT.done;
}
