import type { Workflow, WorkflowRun } from '@muster/contracts';
import { ask } from '../../api/ask.ts';
import { useAct } from '../../api/use-act.ts';
import { useApi } from '../../api/use-api.ts';
import { address } from '../../page-address.ts';
import { useMay } from '../../session/session.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { Data } from '../../ui/data.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Facts } from '../../ui/facts.tsx';
import { Page } from '../../ui/page.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { Thing } from '../../ui/thing.tsx';
import { Time } from '../../ui/time.tsx';
import { counted } from '../../words/numbers.ts';
import { RunOutcome } from './run-outcome.tsx';
import { useCancelRun, useRunNow } from './use-run-now.ts';

const TONES = { supplying: 'blue', supplied: 'green', missed: 'amber', cancelled: 'slate' } as const;

const RUNS: readonly Column<WorkflowRun>[] = [
  { name: 'Scheduled for', width: '26%', cell: (run) => <Time at={run.scheduledAt} form="exact" /> },
  { name: 'By', width: '140px', cell: (run) => run.startedBy ?? run.trigger },
  {
    name: 'Status',
    narrow: 'second',
    width: '110px',
    cell: (run) => <Badge tone={TONES[run.status]} word={run.status} />,
  },
  { name: 'Outcome', narrow: 'line', cell: (run) => <RunOutcome run={run} /> },
];

/** One workflow: its schedule, targets and action, and its last runs. */
export function WorkflowPage() {
  const { id } = address.useParams();
  const query = useApi('/api/workflows/:id', { params: { id } }, { everyMs: 2_000 });
  const runs = useApi(
    '/api/workflows/:id/runs',
    { params: { id }, query: { limit: 50 } },
    { everyMs: 2_000 },
  );
  return (
    <Thing query={query} noun="Workflow" id={id} back={{ to: '/workflows', word: 'All workflows' }}>
      {(workflow) => (
        <Page
          title={workflow.name}
          name={workflow.name}
          beside={
            workflow.enabled ? <Badge tone="green" word="enabled" /> : <Badge tone="amber" word="disabled" />
          }
          acts={<Acts workflow={workflow} />}
        >
          <Card title="Schedule and action">
            <Facts
              facts={[
                ['When', workflow.scheduleText],
                [
                  'Next',
                  workflow.nextAt && workflow.enabled ? (
                    <Time key="next" at={workflow.nextAt} form="exact" />
                  ) : (
                    'never'
                  ),
                ],
                ['For', targets(workflow)],
                ['What', workflow.action.kind],
                [
                  'Times that were missed',
                  { none: 'are not made up for', one: 'are made up for once', all: 'are all made up for' }[
                    workflow.catchUp
                  ],
                ],
                [
                  'Created',
                  <span key="at">
                    <Time at={workflow.createdAt} form="exact" />
                    {workflow.createdBy && ` by ${workflow.createdBy}`}
                  </span>,
                ],
              ]}
            />
          </Card>
          <Card flush title="Runs" aside="newest first">
            <Data query={runs}>
              {(data) =>
                data.runs.length === 0 ? (
                  <Empty title="It has not run yet." />
                ) : (
                  <Runs id={id} runs={data.runs} />
                )
              }
            </Data>
          </Card>
        </Page>
      )}
    </Thing>
  );
}

function Runs({ id, runs }: { id: string; runs: readonly WorkflowRun[] }) {
  const { act, busy } = useAct();
  const may = useMay('operator');
  const cancel = useCancelRun(act);
  const acts: Column<WorkflowRun> = {
    name: '-Acts',
    width: '96px',
    align: 'right',
    cell: (run) =>
      run.status !== 'cancelled' &&
      run.waiting > 0 && (
        <Button disabled={busy} onClick={() => cancel(id, run)}>
          Cancel
        </Button>
      ),
  };
  return <Table label="Runs" rows={runs} columns={may ? [...RUNS, acts] : RUNS} keyOf={(run) => run.id} />;
}

function Acts({ workflow }: { workflow: Workflow }) {
  const { act, busy } = useAct();
  const may = useMay('operator');
  const { runNow, busy: isBegun, dialog } = useRunNow();
  if (!may) return null;
  const params = { id: workflow.id };
  const set = (enabled: boolean) => ask('PATCH', '/api/workflows/:id', { params, body: { enabled } });
  const turn = () =>
    void act(() => set(!workflow.enabled), {
      text: workflow.enabled ? `${workflow.name} is disabled.` : `${workflow.name} is enabled.`,
      undo: { word: 'Undo', act: () => void act(() => set(workflow.enabled), { text: 'Undone.' }) },
    });
  return (
    <>
      <Button disabled={busy} onClick={turn}>
        {workflow.enabled ? 'Disable' : 'Enable'}
      </Button>
      <Button disabled={busy || isBegun} look="first" onClick={() => runNow(workflow)}>
        Run now
      </Button>
      {dialog}
    </>
  );
}

function targets({ targets: meant }: Workflow): string {
  if ('all' in meant) return 'every device';
  if ('tags' in meant) return `devices with ${meant.tags.join(' and ')}`;
  return counted(meant.deviceIds.length, 'device');
}
