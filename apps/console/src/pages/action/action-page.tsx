import type { ActionWithEvents } from '@muster/contracts';
import { useMemo, useState } from 'react';
import { useApiText } from '../../api/use-api.ts';
import { address } from '../../page-address.ts';
import { Card } from '../../ui/card.tsx';
import { Facts } from '../../ui/facts.tsx';
import { Id } from '../../ui/id.tsx';
import { LeaseCountdown } from '../../ui/lease-countdown.tsx';
import { TextLink } from '../../ui/link.tsx';
import { Page } from '../../ui/page.tsx';
import { StateBadge } from '../../ui/state-badge.tsx';
import { TargetLink } from '../../ui/target-link.tsx';
import { Thing } from '../../ui/thing.tsx';
import { Time } from '../../ui/time.tsx';
import { nameOf } from '../../words/action-name.ts';
import { endingOf } from '../../words/endings.ts';
import { fieldOf, readJson, writeJson } from '../../words/json-text.ts';
import { ActionActs } from './action-acts.tsx';
import { AttemptBlock } from './attempt-block.tsx';
import { attemptsOf } from './attempts.ts';
import { EditDialog } from './edit-dialog.tsx';
import { Payload } from './payload.tsx';
import { WhyNotYet } from './why-not-yet.tsx';

/** One action: its attempts with worker, time and error, and why it has not run yet. */
export function ActionPage() {
  const { id } = address.useParams();
  const query = useApiText('/api/actions/:id', { params: { id } });
  return (
    <Thing query={query} noun="Action" id={id} back={{ to: '/actions', word: 'All actions' }}>
      {(text) => <Shown key={id} text={text} />}
    </Thing>
  );
}

function Shown({ text }: { text: string }) {
  const action = useMemo(() => JSON.parse(text) as ActionWithEvents, [text]);
  const whole = useMemo(() => readJson(text), [text]);
  const [isEditing, setEditing] = useState(false);
  const payload = fieldOf(whole, 'payload');
  const task = action.tags.find((tag) => /^task:\d+$/.test(tag))?.slice('task:'.length);
  const said =
    action.error ?? (action.state === 'failed' || action.state === 'expired' ? action.reason : undefined);
  return (
    <Page
      name={`${nameOf(action)} ${action.id}`}
      title={
        <>
          {nameOf(action)} <Id>{action.id}</Id>
        </>
      }
      beside={
        <span className="flex flex-wrap items-center gap-3">
          <StateBadge loose state={action.state} />
          {action.leasedAt && action.leaseUntil && (
            <LeaseCountdown from={action.leasedAt} until={action.leaseUntil} />
          )}
          <TargetLink action={action} />
        </span>
      }
      acts={<ActionActs action={action} onEdit={() => setEditing(true)} />}
    >
      <WhyNotYet action={action} />
      {said && (
        <p className="rounded-card border border-red-fill bg-surface px-4 py-3 wrap-anywhere">
          <span className="font-medium text-red-text">
            {action.state === 'failed' ? 'Failed' : action.state === 'expired' ? 'Expired' : 'Last error'}:{' '}
          </span>
          {endingOf(said)}
        </p>
      )}
      <div className="grid items-start gap-4 lg:grid-cols-[minmax(0,3fr)_minmax(0,2fr)]">
        <Card flush title="Attempts" aside="newest first">
          <ol>
            {attemptsOf(action.events).map((attempt) => (
              <AttemptBlock key={attempt.attempt} attempt={attempt} />
            ))}
          </ol>
        </Card>
        <div className="flex min-w-0 flex-col gap-4">
          <Payload action={action} whole={whole} />
          <Card title="Policy">
            <Facts
              facts={[
                ['Kind', action.name && action.kind],
                ['Priority', action.priority],
                ['Attempts', `${action.attempt} of ${action.maxAttempts}`],
                [
                  'In line',
                  action.headOfLine === 'hold'
                    ? 'later actions wait for it'
                    : 'later actions may pass it while it waits',
                ],
                ['Not before', action.notBefore && <Time at={action.notBefore} form="exact" />],
                ['Deliver by', action.deliverBy && <Time at={action.deliverBy} form="exact" />],
                ['Deadline', action.deadline && <Time at={action.deadline} form="exact" />],
                ['Channel', action.channel],
                [
                  'Tags',
                  action.tags.length > 0
                    ? action.tags.map((tag) => (
                        <TextLink key={tag} to="/actions" search={{ tag }} className="mr-2">
                          {tag}
                        </TextLink>
                      ))
                    : undefined,
                ],
                [
                  'Queued',
                  <span key="at">
                    <Time at={action.createdAt} form="exact" />
                    {action.createdBy && ` by ${action.createdBy}`}
                  </span>,
                ],
                ['Ended', action.endedAt && <Time at={action.endedAt} form="exact" />],
                [
                  'Copy of',
                  action.copiedFrom && (
                    <TextLink key="copy" to="/actions/$id" params={{ id: action.copiedFrom }}>
                      {action.copiedFrom}
                    </TextLink>
                  ),
                ],
                [
                  'Batch',
                  action.batch && (
                    <TextLink key="batch" to="/batches/$id" params={{ id: action.batch.id }}>
                      {action.batch.id}
                    </TextLink>
                  ),
                ],
                [
                  'Task',
                  task && (
                    <TextLink key="task" to="/tasks/$id" params={{ id: task }}>
                      {task}
                    </TextLink>
                  ),
                ],
                [
                  'Workflow',
                  action.workflow && (
                    <TextLink key="workflow" to="/workflows/$id" params={{ id: action.workflow.id }}>
                      {action.workflow.name}
                    </TextLink>
                  ),
                ],
              ]}
            />
          </Card>
        </div>
      </div>
      {isEditing && (
        <EditDialog
          action={action}
          payload={payload ? writeJson(payload) : 'null'}
          onClose={() => setEditing(false)}
        />
      )}
    </Page>
  );
}
