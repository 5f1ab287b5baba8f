import type { Workflow, WorkflowRun } from '@muster/contracts';
import { ask } from '../../api/ask.ts';
import { useLiveList } from '../../api/use-live-list.ts';
import { useMay } from '../../session/session.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { Empty } from '../../ui/empty.tsx';
import { TextLink } from '../../ui/link.tsx';
import { LiveTable } from '../../ui/live-table.tsx';
import { Page } from '../../ui/page.tsx';
import type { Column } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { RunOutcome } from './run-outcome.tsx';
import { useRunNow } from './use-run-now.ts';

/** Whether the last run reached all devices. */
function LastRun({ run }: { run: WorkflowRun }) {
  const { scheduledAt, status } = run;
  return (
    <span className="inline-flex flex-wrap items-center gap-2">
      <span className="md:hidden">last run</span>
      <Time at={scheduledAt} />
      {status === 'missed' || status === 'cancelled' ? (
        <Badge tone={status === 'missed' ? 'amber' : 'slate'} word={status} />
      ) : (
        <span className="text-ink-2">
          <RunOutcome run={run} />
        </span>
      )}
    </span>
  );
}

const idOf = (workflow: Workflow) => workflow.id;

/** When each workflow runs next, and whether its last run reached all devices. */
export function WorkflowsPage() {
  const may = useMay('operator');
  const { runNow, busy, dialog } = useRunNow();
  const list = useLiveList({
    key: ['/api/workflows'],
    idOf,
    everyMs: 2_000,
    read: async (cursor, signal) => {
      const page = await ask('GET', '/api/workflows', { query: { limit: 100, cursor }, signal });
      return { rows: page.workflows, cursor: page.cursor };
    },
  });
  const columns: readonly Column<Workflow>[] = [
    {
      name: 'Workflow',
      width: '22%',
      cell: (one) => (
        <TextLink to="/workflows/$id" params={{ id: one.id }} className="font-medium">
          {one.name}
        </TextLink>
      ),
    },
    {
      name: 'Enabled',
      narrow: 'second',
      width: '96px',
      cell: (one) =>
        one.enabled ? <Badge tone="green" word="enabled" /> : <Badge tone="amber" word="disabled" />,
    },
    { name: 'When', narrow: 'line', cell: (one) => one.scheduleText },
    {
      name: 'Next',
      width: '120px',
      cell: (one) =>
        one.nextAt && one.enabled ? <Time at={one.nextAt} /> : <span className="text-ink-3">never</span>,
    },
    {
      name: 'Last run',
      width: '24%',
      narrow: 'line',
      cell: ({ lastRun }) =>
        lastRun ? <LastRun run={lastRun} /> : <span className="text-ink-3">none yet</span>,
    },
    ...(may
      ? [
          {
            name: '-Acts',
            width: '110px',
            align: 'right' as const,
            cell: (one: Workflow) => (
              <Button disabled={busy} onClick={() => runNow(one)}>
                Run now
              </Button>
            ),
          },
        ]
      : []),
  ];
  return (
    <Page title="Workflows" name="Workflows">
      <Card flush>
        <LiveTable
          label="Workflows"
          list={list}
          columns={columns}
          keyOf={idOf}
          empty={
            <Empty
              title="There are no workflows yet."
              command={`curl -X POST $MUSTER/api/workflows -H "$OPERATOR" -H "$JSON" -d '{"name": "nightly sync", "schedule": {"cron": "0 3 * * *"}, "targets": {"all": true}, "action": {"kind": "SYNC"}}'`}
            >
              A workflow assigns an action to many devices on a schedule.
            </Empty>
          }
        />
      </Card>
      {dialog}
    </Page>
  );
}
