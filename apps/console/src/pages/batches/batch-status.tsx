import type { Batch } from '@muster/contracts';
import { CircleCheck, CircleDot, CircleSlash, type LucideIcon, OctagonX, Pause } from 'lucide-react';
import { Badge } from '../../ui/badge.tsx';
import type { Tone } from '../../ui/tones.ts';

const LOOKS: Readonly<Record<Batch['status'], readonly [LucideIcon, Tone, string]>> = {
  supplying: [CircleDot, 'blue', 'supplying'],
  running: [CircleDot, 'blue', 'running'],
  paused: [Pause, 'amber', 'paused'],
  cancelled: [CircleSlash, 'slate', 'cancelled'],
  aborted: [OctagonX, 'red', 'aborted'],
  completed: [CircleCheck, 'green', 'completed'],
};

export function BatchStatus({ status }: { status: Batch['status'] }) {
  const [icon, tone, word] = LOOKS[status];
  return <Badge icon={icon} tone={tone} word={word} />;
}
