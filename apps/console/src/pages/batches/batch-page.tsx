import type { Batch, BatchTarget } from '@muster/contracts';
import { useMemo } from 'react';
import { ask } from '../../api/ask.ts';
import { useApi } from '../../api/use-api.ts';
import { useLiveList } from '../../api/use-live-list.ts';
import { address } from '../../page-address.ts';
import { AddingBar } from '../../ui/adding-bar.tsx';
import { Card } from '../../ui/card.tsx';
import { Empty } from '../../ui/empty.tsx';
import { LiveTable } from '../../ui/live-table.tsx';
import { Page } from '../../ui/page.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { Thing } from '../../ui/thing.tsx';
import { count } from '../../words/numbers.ts';
import { BatchActs } from './batch-acts.tsx';
import { BatchStatus } from './batch-status.tsx';
import { batchWord, COUNTED, failedPercent, segmentsOf } from './segments.ts';
import { targetColumns } from './target-columns.tsx';

/** How far a batch is, how fast, and whether it will abort. */
export function BatchPage() {
  const { id } = address.useParams();
  const query = useApi('/api/batches/:id', { params: { id } }, { everyMs: 2_000 });
  return (
    <Thing query={query} noun="Batch" id={id} back={{ to: '/batches', word: 'All batches' }}>
      {(batch) => (
        <Page
          title={batch.name ?? `Batch ${batch.id}`}
          name={batch.name ?? `Batch ${batch.id}`}
          beside={<BatchStatus status={batch.status} />}
          acts={<BatchActs batch={batch} />}
        >
          <Card title={batch.action.kind} aside={pace(batch)}>
            <AddingBar segments={segmentsOf(batch)} total={batch.total} label="Progress" />
            <p className="mt-2 text-table text-ink-2">{prospect(batch)}</p>
          </Card>
          <Targets batch={batch} />
        </Page>
      )}
    </Thing>
  );
}

const keyOf = (one: BatchTarget) => one.deviceId ?? one.target ?? '';

function Targets({ batch }: { batch: Batch }) {
  const { state } = address.useSearch();
  const columns = useMemo(() => targetColumns(batch), [batch]);
  const list = useLiveList({
    key: ['/api/batches/:id/targets', batch.id, state],
    idOf: keyOf,
    everyMs: 2_000,
    read: async (cursor, signal) => {
      const page = await ask('GET', '/api/batches/:id/targets', {
        params: { id: batch.id },
        query: { state, limit: 100, cursor } as never,
        signal,
      });
      return { rows: page.targets, cursor: page.cursor };
    },
  });
  return (
    <>
      <Tabs
        label="Outcome"
        tabs={[
          { word: 'all', count: batch.total, search: {}, isOpen: state === undefined },
          ...COUNTED.filter((word) => batch.counts[word] > 0 || word === state).map((word) => ({
            word: batchWord(word),
            count: batch.counts[word],
            search: { state: word },
            isOpen: word === state,
          })),
        ]}
      />
      <Card flush>
        <LiveTable
          label="Devices of the batch"
          list={list}
          columns={columns}
          keyOf={keyOf}
          empty={<Empty title="No device is in this state." />}
        />
      </Card>
    </>
  );
}

function pace(batch: Batch): string {
  // a batch that has ended has no pace
  if (batch.status !== 'running' && batch.status !== 'supplying' && batch.status !== 'paused') return '';
  const now = batch.perMinute === null ? 'as fast as possible' : `${count(batch.perMinute)} a minute`;
  return batch.ramp
    ? `${now}, times ${batch.ramp.factor} with every ${count(batch.ramp.everySuccesses)} successes`
    : now;
}

function prospect(batch: Batch): string {
  const parts = [];
  if (batch.abort)
    parts.push(
      `${failedPercent(batch).toFixed(1)} % failed; the batch aborts at ${batch.abort.failurePercent} % of ${count(batch.abort.minimumSample)} or more`,
    );
  const left = batch.counts.waiting;
  if (left > 0 && batch.perMinute !== null && batch.status !== 'paused')
    parts.push(`about ${Math.ceil(left / batch.perMinute)} min until all are queued`);
  return parts.join(' · ');
}
