import type { AuditLine } from '@muster/contracts';
import { useNavigate } from '@tanstack/react-router';
import { ask } from '../../api/ask.ts';
import { useLiveList } from '../../api/use-live-list.ts';
import { useSeenValues } from '../../api/use-seen-values.ts';
import { address } from '../../page-address.ts';
import { useMay } from '../../session/session.tsx';
import { Card } from '../../ui/card.tsx';
import { Empty } from '../../ui/empty.tsx';
import { FilterBar } from '../../ui/filter-bar.tsx';
import { TextLink } from '../../ui/link.tsx';
import { LiveTable } from '../../ui/live-table.tsx';
import { Page } from '../../ui/page.tsx';
import type { Column } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';

const KEYS = { actor: [], act: [], target: [], after: [], before: [] } as const;
const idOf = (line: AuditLine) => line.id;
const valuesOf = ({ act, actor, target }: AuditLine) => ({ actor: [actor], act: [act], target: [target] });

const COLUMNS: readonly Column<AuditLine>[] = [
  {
    name: 'When',
    width: '110px',
    cell: (line) => (
      <span className="text-ink-3">
        <Time at={line.at} />
      </span>
    ),
  },
  { name: 'Who', width: '18%', cell: (line) => <span className="font-medium">{line.actor}</span> },
  { name: 'Act', width: '20%', cell: (line) => line.act },
  { name: 'Target', width: '18%', cell: (line) => line.target },
  {
    name: 'More',
    narrow: 'line',
    cell: (line) =>
      line.detail == null ? null : (
        <code className="font-mono text-label break-all text-ink-2">{JSON.stringify(line.detail)}</code>
      ),
  },
];

/** The audit log; the server shows it only to admins. */
export function AuditPage() {
  const isAdmin = useMay('admin');
  if (isAdmin) return <AuditLog />;
  return (
    <Page title="Audit log" name="Audit log" beside={<TextLink to="/settings">Settings</TextLink>}>
      <Card flush>
        <Empty title="The audit log is for admins.">Sign in with a token that has the role admin.</Empty>
      </Card>
    </Page>
  );
}

function AuditLog() {
  const search = address.useSearch();
  const navigate = useNavigate();
  const filter = Object.fromEntries(
    Object.keys(KEYS).flatMap((key) => (search[key] ? [[key, search[key]]] : [])),
  );
  const list = useLiveList({
    key: ['/api/audit', filter],
    idOf,
    everyMs: 5_000,
    read: async (cursor, signal) => {
      const page = await ask('GET', '/api/audit', { query: { ...filter, limit: 100, cursor }, signal });
      return { rows: page.audit, cursor: page.cursor };
    },
  });
  const seen = useSeenValues(list.rows, valuesOf);
  return (
    <Page title="Audit log" name="Audit log" beside={<TextLink to="/settings">Settings</TextLink>}>
      <FilterBar
        keys={KEYS}
        seen={seen}
        value={filter}
        onChange={(value) => void navigate({ to: '/audit', search: value })}
      >
        <Card flush>
          <LiveTable
            label="Audit log"
            list={list}
            columns={COLUMNS}
            keyOf={idOf}
            empty={
              <Empty title="There are no changes yet.">
                Every change by an operator is listed here, with who made it and when.
              </Empty>
            }
          />
        </Card>
      </FilterBar>
    </Page>
  );
}
