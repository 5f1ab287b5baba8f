import { useApi } from '../../api/use-api.ts';
import { Badge } from '../../ui/badge.tsx';
import { Card } from '../../ui/card.tsx';
import { Data } from '../../ui/data.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Ending } from '../../ui/ending.tsx';
import { SkeletonRows } from '../../ui/skeleton.tsx';
import { type Column, Table } from '../../ui/table.tsx';

interface Certificate {
  readonly topic: string;
  readonly own: boolean;
  readonly notAfter: string | null;
  readonly stopReason: string | null;
}

const COLUMNS: readonly Column<Certificate>[] = [
  {
    name: 'Topic',
    width: '44%',
    cell: (one) => <span className="font-mono text-label break-all">{one.topic}</span>,
  },
  {
    name: 'Pushes',
    narrow: 'line',
    cell: (one) =>
      one.stopReason ? (
        <span className="inline-flex flex-wrap items-center gap-2">
          <Badge tone="red" word="stopped" /> <span className="text-ink-2">APNs says {one.stopReason}</span>
        </span>
      ) : one.notAfter === null ? (
        <Badge tone="amber" word="no certificate" />
      ) : (
        <Badge tone="green" word="sent" />
      ),
  },
  {
    name: 'Source',
    width: '120px',
    narrow: 'none',
    cell: (one) => <span className="text-ink-2">{one.own ? 'the tenant' : 'the settings'}</span>,
  },
  { name: 'Ends', width: '150px', align: 'right', cell: (one) => <Ending at={one.notAfter} /> },
];

/** The push certificates: when one expires, pushes of its topic end. */
export function PushCertificates() {
  const query = useApi('/api/push-certificates', {}, { everyMs: 10_000 });
  return (
    <Card flush title="Push certificates">
      <Data query={query} loading={<SkeletonRows rows={1} />}>
        {({ certificates }) =>
          certificates.length === 0 ? (
            <Empty
              title="There is no push certificate."
              command="cat push.pem push.key | curl -T - -u muster:$TOKEN $MUSTER/v1/pushcert"
            >
              Without one no phone can enrol or be woken up.
            </Empty>
          ) : (
            <Table
              label="Push certificates"
              rows={certificates}
              columns={COLUMNS}
              keyOf={(one) => one.topic}
            />
          )
        }
      </Data>
    </Card>
  );
}
