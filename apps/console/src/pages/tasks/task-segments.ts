import type { Task } from '@muster/contracts';
import type { Segment } from '../../ui/adding-bar.tsx';

/** Their sum is the total; of the pending ones some were not handed out even once. */
export function taskSegments({ counts, unsupplied }: Task): Segment[] {
  return [
    { word: 'completed', tone: 'green', value: counts.completed },
    { word: 'failed', tone: 'red', value: counts.failed },
    { word: 'cancelled', tone: 'slate', value: counts.cancelled },
    { word: 'running', tone: 'blue', value: counts.running },
    { word: 'pending again', tone: 'plum', value: counts.pending - unsupplied },
    { word: 'pending', tone: 'slate', outline: true, value: unsupplied },
  ];
}
