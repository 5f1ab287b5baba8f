import { useApi } from '../../api/use-api.ts';
import { Card } from '../../ui/card.tsx';
import { Data } from '../../ui/data.tsx';
import { Table } from '../../ui/table.tsx';
import { count } from '../../words/numbers.ts';

/** The limits behind refusals, timeouts and deletions; settings of the server. */
export function Limits() {
  const query = useApi('/api/limits', {});
  return (
    <Card flush title="Limits" aside="Set where the server is started">
      <Data query={query}>
        {({ limits }) => (
          <Table
            label="Limits"
            rows={limits}
            keyOf={({ setting }) => setting}
            columns={[
              { name: 'Meaning', narrow: 'line', cell: ({ meaning }) => meaning },
              {
                name: 'Setting',
                width: '34%',
                cell: ({ setting }) => <code className="font-mono text-label wrap-anywhere">{setting}</code>,
              },
              {
                name: 'Value',
                width: '96px',
                align: 'right',
                cell: (one) => (
                  <span className={one.value === one.default ? '' : 'font-semibold'}>{count(one.value)}</span>
                ),
              },
            ]}
          />
        )}
      </Data>
    </Card>
  );
}
