import type { Task } from '@muster/contracts';
import type { Segment } from '../../ui/adding-bar.tsx';
import type { Tone } from '../../ui/tones.ts';

/** The states by which the devices of a task can be listed, in the order of the bar. Their counts add up to the total. */
export const TASK_PARTS = ['completed', 'failed', 'cancelled', 'running', 'retrying', 'unsupplied'] as const;
export type TaskPart = (typeof TASK_PARTS)[number];

/** Pending ones are split: handed out before, or never. */
const LOOKS: Readonly<Record<TaskPart, { word: string; tone: Tone; outline?: true }>> = {
  completed: { word: 'succeeded', tone: 'green' },
  failed: { word: 'failed', tone: 'red' },
  cancelled: { word: 'cancelled', tone: 'slate' },
  running: { word: 'running', tone: 'blue' },
  retrying: { word: 'pending again', tone: 'plum' },
  unsupplied: { word: 'pending', tone: 'slate', outline: true },
};

export const wordOf = (part: TaskPart): string => LOOKS[part].word;

export function countOf({ counts, unsupplied }: Task, part: TaskPart): number {
  if (part === 'retrying') return counts.pending - unsupplied;
  return part === 'unsupplied' ? unsupplied : counts[part];
}

export function taskSegments(task: Task): Segment[] {
  return TASK_PARTS.map((part) => ({
    ...LOOKS[part],
    value: countOf(task, part),
    to: { to: '/tasks/$id', params: { id: task.id }, search: { status: part } },
  }));
}
