import type { Action } from '@muster/contracts';
import { HelpedReason } from '../../reasons/helped-reason.tsx';
import { Id } from '../../ui/id.tsx';
import { TextLink } from '../../ui/link.tsx';
import { Outcome } from '../../ui/outcome.tsx';
import { StateBadge } from '../../ui/state-badge.tsx';
import type { Column } from '../../ui/table.tsx';
import { TargetLink } from '../../ui/target-link.tsx';
import { Time } from '../../ui/time.tsx';
import { nameOf } from '../../words/action-name.ts';

/** Kind, target, worker, state and reason; the reason has the most room. */
export const ACTION_COLUMNS: readonly Column<Action>[] = [
  {
    name: 'Action',
    width: '18%',
    cell: (action) => (
      <TextLink to="/actions/$id" params={{ id: action.id }} className="font-medium wrap-anywhere">
        {nameOf(action)} <Id>{action.id}</Id>
      </TextLink>
    ),
  },
  { name: 'Target', width: '16%', cell: (action) => <TargetLink action={action} /> },
  { name: 'State', width: '108px', narrow: 'second', cell: (action) => <StateBadge state={action.state} /> },
  {
    name: 'Reason, worker or outcome',
    narrow: 'line',
    cell: (action) =>
      action.state === 'pending' && action.waitingFor ? (
        <HelpedReason withoutFront reason={action.waitingFor} action={action} />
      ) : (
        <Outcome action={action} />
      ),
  },
  {
    name: 'Age',
    width: '96px',
    align: 'right',
    cell: (action) => (
      <span className="text-ink-3">
        <Time at={action.createdAt} />
      </span>
    ),
  },
];
