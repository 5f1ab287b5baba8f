import type { Task } from '@muster/contracts';
import { ask } from '../../api/ask.ts';
import { useApi } from '../../api/use-api.ts';
import { useLiveList } from '../../api/use-live-list.ts';
import { address } from '../../page-address.ts';
import { Card } from '../../ui/card.tsx';
import { Data } from '../../ui/data.tsx';
import { Empty } from '../../ui/empty.tsx';
import { TextLink } from '../../ui/link.tsx';
import { LiveTable } from '../../ui/live-table.tsx';
import { Page } from '../../ui/page.tsx';
import { ActiveTask } from './active-task.tsx';
import { PcCard } from './pc-card.tsx';
import { TASK_COLUMNS } from './task-columns.tsx';

const idOf = (task: Task) => task.id;

/** Whether every slot is busy, and which PC lags. */
export function TasksPage() {
  const { pc: only } = address.useSearch();
  const active = useApi('/api/tasks', { query: { status: 'running', limit: 1 } });
  const pcs = useApi('/api/pcs', { query: { limit: 100 } });
  // one request for all PCs, not one for each
  const running = useApi('/api/pcs/running', {});
  const list = useLiveList({
    key: ['/api/tasks'],
    idOf,
    everyMs: 2_000,
    read: async (cursor, signal) => {
      const page = await ask('GET', '/api/tasks', { query: { limit: 50, cursor }, signal });
      return { rows: page.tasks, cursor: page.cursor };
    },
  });
  return (
    <Page title="Tasks & PCs" name="Tasks & PCs" beside={only && <TextLink to="/tasks">all PCs</TextLink>}>
      <Data query={active}>{(data) => <ActiveTask task={data.tasks[0]} />}</Data>
      <Data query={pcs}>
        {(data) => {
          const shown = data.pcs.filter((pc) => only === undefined || pc.id === only);
          return shown.length === 0 ? (
            <Card flush>
              <Empty
                title="There are no PCs yet."
                command={`curl -X POST $MUSTER/api/pcs -H "$OPERATOR" -H "$JSON" -d '{"name": "rack-1"}'`}
              />
            </Card>
          ) : (
            <div className="grid items-start gap-4 lg:grid-cols-2">
              {shown.map((pc) => (
                <PcCard
                  key={pc.id}
                  pc={pc}
                  task={active.data?.tasks[0]}
                  running={(running.data?.running ?? []).filter(({ pcId }) => pcId === pc.id)}
                />
              ))}
            </div>
          );
        }}
      </Data>
      <Card flush title="Tasks" aside="newest first">
        <LiveTable
          label="Tasks"
          list={list}
          columns={TASK_COLUMNS}
          keyOf={idOf}
          empty={
            <Empty title="There are no tasks yet.">
              A task is work for many devices through their PCs; one task per tenant is active at a time.
            </Empty>
          }
        />
      </Card>
    </Page>
  );
}
