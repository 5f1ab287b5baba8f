import { setTimeout as pause } from 'node:timers/promises';
import type { Batch } from '@muster/contracts';
import { Option } from 'commander';
import { table } from '../../commands/table.ts';
import { ASSIGN_OPTIONS, type Assigning, bodyOf, keyOf } from './assign.ts';
import { EXIT, NotFoundError, UsageError } from './exit-codes.ts';
import { deviceIdOf } from './named.ts';
import { progress } from './progress.ts';
import { type Group, OPTIONS, pages, wholeNumber, withMore } from './run.ts';
import type { Session } from './session.ts';
import { ago } from './words.ts';

const LOOK_AGAIN_MS = 1_000;
const LOOKS_A_NOTE = 10;
const OVER: readonly string[] = ['cancelled', 'aborted', 'completed'];
/** A batch that was ended early is over when its last device is. */
const isOver = ({ status, counts }: Batch) =>
  OVER.includes(status) && counts.waiting + counts.pending + counts.sent === 0;

export function batchCommands(group: Group): void {
  group.add('list', 'List batches, newest first', [OPTIONS.limit(), OPTIONS.all()], list);
  group.add(
    'show <id>',
    'Show the progress of a batch',
    [new Option('--watch', 'wait until it ends, with a progress bar; exits with 6 if any failed')],
    show,
  );
  group.add(
    'create <kind>',
    'Assign one action to many devices',
    [
      new Option('--name <name>', 'the name of the batch'),
      new Option('--device <device...>', 'to these devices (id or name)'),
      new Option('--tag <tag...>', 'to the devices that have all these tags'),
      new Option('--everything', 'to all devices'),
      new Option('--per-minute <n>', 'how many per minute').argParser(wholeNumber(1, 1_000_000)),
      ...ASSIGN_OPTIONS().filter(({ long }) => long !== '--wait'),
      new Option('--watch', 'wait until it ends, with a progress bar; exits with 6 if any failed'),
    ],
    create,
  );
  const change = (verb: 'pause' | 'resume' | 'cancel') => async (session: Session, id: string) => {
    const { body } = await session.client.batches[verb]({ params: { id } });
    session.show(body, () => [line(body)]);
    return EXIT.done;
  };
  group.add('pause <id>', 'Pause a batch', [], change('pause'));
  group.add('resume <id>', 'Resume a batch', [], change('resume'));
  group.add(
    'cancel <id>',
    'Cancel a batch: waiting actions are cancelled, running ones asked to stop',
    [],
    change('cancel'),
  );
  group.add('retry <id>', 'Retry the targets that failed or never started', [OPTIONS.clearError()], retry);
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
  session.show(body, () => [
    `${body.name ?? `Batch ${body.id}`}: ${body.action.kind}, ${ago(body.createdAt, session.now())}${body.createdBy ? ` by ${body.createdBy}` : ''}`,
    line(body),
    ...(body.status === 'aborted' ? [abortedBy(body)] : []),
  ]);
  return EXIT.done;
}

const abortedBy = ({ abort, counts }: Batch) =>
  `Aborted by its rule: ${counts.failed} of ${counts.failed + counts.done} failed${abort ? `; the limit is ${abort.failurePercent} % once ${abort.minimumSample} have ended` : ''}.`;

/** Redraws one line on a terminal; into a file or a pipe it writes changes, a few times a minute. */
async function watched(session: Session, first: Batch): Promise<number> {
  let batch = first;
  let said = '';
  for (let nth = 0; !isOver(batch); nth += 1) {
    if (session.draw) session.draw(line(batch));
    else if (nth % LOOKS_A_NOTE === 0 && line(batch) !== said) {
      said = line(batch);
      session.note(said);
    }
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

async function targetsOf(session: Session, { device, tag, everything }: Creating) {
  const ways = [device, tag, everything].filter(Boolean).length;
  if (ways !== 1) throw new UsageError('Choose the targets with one of --device, --tag or --everything.');
  if (device) return { deviceIds: await Promise.all(device.map((one) => deviceIdOf(session, one))) };
  const targets = tag ? { tags: tag } : { all: true as const };
  // a misspelt tag would make an empty batch, which ends at once and looks successful
  const { body } = await session.client.devices.count({ body: { targets } });
  if (body.count === 0)
    throw new NotFoundError(tag ? `No device has ${tagsOf(tag)}.` : 'There are no devices.');
  return targets;
}

const tagsOf = (tags: readonly string[]) =>
  tags.length === 1 ? `the tag ${tags[0]}` : `all of the tags ${tags.join(', ')}`;

async function create(session: Session, kind: string, options: Creating): Promise<number> {
  const { name, perMinute, watch } = options;
  const { body: made } = await session.client.batches.create({
    body: {
      ...{ targets: await targetsOf(session, options), action: bodyOf(kind, options) },
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
    `${done.redriven} failed ones redriven, ${done.again} started anew, ${done.refused} refused.`,
  ]);
  return done.refused > 0 ? EXIT.refused : EXIT.done;
}
