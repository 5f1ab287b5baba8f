import type { WaitingFor } from '@muster/contracts';
import { ReasonChip } from '../ui/reason-chip.tsx';
import { type HelpedAction, useHelp } from './use-help.tsx';

/** The reason, and beside it the one button that helps. */
export function HelpedReason(props: {
  reason: WaitingFor;
  action: HelpedAction;
  explain?: boolean;
  /** In a list that has the button already, or would repeat it in every row. */
  withoutFront?: boolean;
}) {
  const { action, explain = false, reason, withoutFront } = props;
  const help = useHelp(reason, action);
  return (
    <ReasonChip
      reason={reason}
      explain={explain}
      act={withoutFront && reason.code === 'BEHIND' ? null : help}
    />
  );
}
