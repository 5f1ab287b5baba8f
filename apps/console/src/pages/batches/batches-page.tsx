import type { Batch } from '@muster/contracts';
import { useState } from 'react';
import { ask } from '../../api/ask.ts';
import { useLiveList } from '../../api/use-live-list.ts';
import { useMay } from '../../session/session.tsx';
import { AddingBar } from '../../ui/adding-bar.tsx';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Failure } from '../../ui/failure.tsx';
import { TextLink } from '../../ui/link.tsx';
import { Page } from '../../ui/page.tsx';
import { SkeletonRows } from '../../ui/skeleton.tsx';
import { Time } from '../../ui/time.tsx';
import { BatchStatus } from './batch-status.tsx';
import { NewBatchDialog } from './new-batch-dialog.tsx';
import { PauseBatch } from './pause-batch.tsx';
import { segmentsOf } from './segments.ts';

const idOf = (batch: Batch) => batch.id;

/** The batches with their progress and failures. */
export function BatchesPage() {
  const may = useMay('operator');
  const [isMaking, setMaking] = useState(false);
  const list = useLiveList({
    key: ['/api/batches'],
    idOf,
    everyMs: 2_000,
    read: async (cursor, signal) => {
      const page = await ask('GET', '/api/batches', { query: { limit: 50, cursor }, signal });
      return { rows: page.batches, cursor: page.cursor };
    },
  });
  return (
    <Page
      title="Batches"
      name="Batches"
      acts={
        may && (
          <Button look="first" onClick={() => setMaking(true)}>
            New batch
          </Button>
        )
      }
    >
      <Card flush>
        {list.isLoading && <SkeletonRows />}
        {list.error != null && (
          <div className="p-4">
            <Failure error={list.error} retry={list.retry} />
          </div>
        )}
        {!list.isLoading && list.rows.length === 0 && list.error == null && (
          <Empty title="There are no batches yet.">
            A batch assigns one action to many devices, optionally with a rate and a rule to abort.
          </Empty>
        )}
        {list.fresh > 0 && (
          <button
            type="button"
            onClick={list.showFresh}
            className="flex h-row w-full items-center justify-center border-b bg-sunken text-table font-medium"
          >
            {list.fresh} new: show
          </button>
        )}
        <ul>
          {list.rows.map((batch) => (
            <li data-row key={batch.id} className="border-b px-4 py-3 last:border-b-0">
              <div className="mb-2 flex flex-wrap items-center gap-x-3 gap-y-1">
                <TextLink
                  to="/batches/$id"
                  params={{ id: batch.id }}
                  className="min-w-0 font-medium wrap-anywhere"
                >
                  {batch.name ?? `Batch ${batch.id}`}
                </TextLink>
                <BatchStatus status={batch.status} />
                <span className="text-label text-ink-3">
                  {batch.action.kind}, <Time at={batch.createdAt} />
                  {batch.createdBy && ` by ${batch.createdBy}`}
                </span>
                <span className="ml-auto">
                  <PauseBatch batch={batch} />
                </span>
              </div>
              <AddingBar
                segments={segmentsOf(batch)}
                total={batch.total}
                label={`Progress of ${batch.name ?? batch.id}`}
              />
            </li>
          ))}
        </ul>
        {list.hasMore && (
          <div className="flex justify-center border-t p-2">
            <Button onClick={list.loadMore} disabled={list.isLoadingMore}>
              Load 50 more
            </Button>
          </div>
        )}
      </Card>
      {isMaking && <NewBatchDialog onClose={() => setMaking(false)} />}
    </Page>
  );
}
