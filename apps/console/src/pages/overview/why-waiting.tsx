import type { WaitingLanes } from '@muster/contracts';
import { Card } from '../../ui/card.tsx';
import { classes } from '../../ui/classes.ts';
import { useKeptOrder } from '../../ui/kept-order.ts';
import { TextLink } from '../../ui/link.tsx';
import { Time } from '../../ui/time.tsx';
import { TONES } from '../../ui/tones.ts';
import { nameOf } from '../../words/action-name.ts';
import { count, counted } from '../../words/numbers.ts';
import { lookOf } from '../../words/reasons.ts';

/** Why lanes wait: the reason of the first action of each, by group. */
export function WhyWaiting({ waiting }: { waiting: WaitingLanes }) {
  const groups = useKeptOrder(waiting.groups, ({ code }) => code);
  const most = Math.max(1, ...waiting.groups.map((group) => group.count));
  const said =
    waiting.sampled < waiting.of
      ? `${count(waiting.sampled)} of ${count(waiting.of)} lanes were examined`
      : `${counted(waiting.of, 'lane')} with work`;
  return (
    <Card
      title="Why lanes wait"
      aside={
        <span>
          {said}, <Time at={waiting.at} />
        </span>
      }
    >
      {waiting.groups.length === 0 ? (
        <p className="text-ink-2">Nothing waits in any lane.</p>
      ) : (
        <ul className="flex flex-col gap-3">
          {groups.map((group) => {
            const { icon: Icon, short, tone } = lookOf(group.code);
            return (
              <li
                key={group.code}
                className="grid grid-cols-[16px_minmax(0,1fr)_max-content] items-center gap-x-2 gap-y-1"
              >
                <Icon aria-hidden size={14} className={TONES[tone].text} />
                <span className="font-medium">{short}</span>
                <span>{count(group.count)}</span>
                <span aria-hidden className="col-span-3 h-1 rounded-round bg-sunken">
                  <span
                    className={classes('block h-full origin-left rounded-round', TONES[tone].fill)}
                    style={{ transform: `scaleX(${group.count / most})` }}
                  />
                </span>
                <span className="col-span-3 text-label text-ink-3">
                  for example{' '}
                  <TextLink to="/actions/$id" params={{ id: group.example.actionId }}>
                    {nameOf(group.example)} {group.example.actionId}
                  </TextLink>
                  , oldest <Time at={group.oldestAt} />
                </span>
              </li>
            );
          })}
        </ul>
      )}
    </Card>
  );
}
