import { useQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useSyncExternalStore } from 'react';
import { useLive } from '../../live/live.tsx';
import { address } from '../../page-address.ts';
import { useMay, useSession } from '../../session/session.tsx';
import { Failure } from '../../ui/failure.tsx';
import { Page } from '../../ui/page.tsx';
import { Skeleton } from '../../ui/skeleton.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { remembered } from '../../words/remembered.ts';
import { clock } from '../../words/times.ts';
import { useZone } from '../../words/zone.ts';
import { type Board, countOf, keepBoard, keptBoard, readBoard, STATUSES } from './board.ts';
import { BotsLine } from './bots-line.tsx';
import { Column } from './column.tsx';
import { OrderActs } from './order-acts.tsx';
import { useClaiming } from './use-claiming.ts';

/** Without the stream the board is read every two seconds. */
const POLL_MS = 2_000;
/** Off by default: looking at the board must not change anything. */
const auto = remembered<'on' | 'off'>('muster-orders-auto', ['on', 'off'], 'off');

/** The waiting orders, and which bot does what until when. */
export function OrdersPage() {
  const { mine } = useSession();
  const tenant = mine.tenant.id;
  const { isLive } = useLive();
  const may = useMay('operator');
  const isAuto = useSyncExternalStore(auto.watch, auto.read) === 'on';
  const query = useQuery({
    queryKey: ['board', tenant],
    queryFn: ({ signal }) => readBoard(signal),
    meta: { everyMs: 500 },
    refetchInterval: isLive ? false : POLL_MS,
    retry: false,
  });
  const kept = useMemo(() => keptBoard(tenant), [tenant]);
  useEffect(() => {
    if (query.data) keepBoard(tenant, query.data);
  }, [tenant, query.data]);
  const isClaiming = may && isAuto;
  const { isLeader } = useClaiming(tenant, query.data, isClaiming);
  const board = query.data ?? (query.isError ? kept : undefined);
  const said = query.isError ? 'offline' : isLive ? 'live' : 'every 2 s';
  return (
    <Page
      title="Orders"
      name="Orders"
      beside={
        <span className="text-label text-ink-3">
          {said}
          {isClaiming && (isLeader ? ' · this tab leads' : ' · another tab leads')}
        </span>
      }
      acts={
        may && (
          <OrderActs
            bots={board?.bots ?? []}
            isAuto={isAuto}
            setAuto={(on) => auto.write(on ? 'on' : 'off')}
            tenant={tenant}
          />
        )
      }
    >
      {query.isError && <Offline error={query.error} board={board} retry={() => void query.refetch()} />}
      {board ? (
        <Columns board={board} isOld={query.isError} isClaiming={isClaiming} />
      ) : (
        <Skeleton className="h-[400px]" />
      )}
    </Page>
  );
}

function Columns({ board, isClaiming, isOld }: { board: Board; isClaiming: boolean; isOld: boolean }) {
  const { column } = address.useSearch();
  const shown = STATUSES.find((status) => status === column) ?? 'PENDING';
  return (
    <div className={isOld ? 'grayscale' : ''}>
      <BotsLine board={board} isClaiming={isClaiming} />
      <div className="my-2 md:hidden">
        <Tabs
          label="Columns"
          tabs={STATUSES.map((status) => ({
            word: status,
            count: countOf(board.parts[status]),
            search: { column: status },
            isOpen: status === shown,
          }))}
        />
      </div>
      <div className="grid items-start gap-4 md:mt-4 md:grid-cols-3">
        {STATUSES.map((status) => (
          <div key={status} className={status === shown ? '' : 'hidden md:block'}>
            <Column status={status} part={board.parts[status]} bots={board.bots} />
          </div>
        ))}
      </div>
    </div>
  );
}

function Offline({ error, board, retry }: { error: unknown; board: Board | undefined; retry: () => void }) {
  const [zone] = useZone();
  return (
    <>
      <Failure error={error} retry={retry} />
      {board && (
        <p className="text-amber-text">
          This is the board of {clock(board.readAt, zone)}, kept by this browser.
        </p>
      )}
    </>
  );
}
