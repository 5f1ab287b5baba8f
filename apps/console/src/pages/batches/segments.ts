import type { Batch } from '@muster/contracts';
import type { Segment } from '../../ui/adding-bar.tsx';
import type { Tone } from '../../ui/tones.ts';
import { wordOf } from '../../words/states.ts';

type Counted = keyof Batch['counts'];

/** In this order, each with its colour; targets that are not queued yet are an outline. */
const PARTS: readonly (readonly [word: Counted, tone: Tone, outline?: true])[] = [
  ['done', 'green'],
  ['failed', 'red'],
  ['refused', 'red'],
  ['expired', 'plum'],
  ['cancelled', 'slate'],
  ['stopped', 'amber'],
  ['forgotten', 'slate'],
  ['sent', 'blue'],
  ['pending', 'slate'],
  ['waiting', 'slate', true],
];

/** Devices without an action have words of their own; the others those of all actions. */
export const batchWord = (counted: Counted): string =>
  counted === 'waiting' ? 'not queued yet' : wordOf(counted);

export function segmentsOf(batch: Batch): Segment[] {
  return PARTS.map(([word, tone, outline]) => ({
    word: batchWord(word),
    tone,
    value: batch.counts[word],
    ...(outline ? { outline } : {}),
    to: { to: '/batches/$id', params: { id: batch.id }, search: { state: word } },
  }));
}

export const COUNTED = PARTS.map(([word]) => word);

/** The percentage that its abort rule looks at. */
export function failedPercent(batch: Batch): number {
  const { done, failed, expired, refused } = batch.counts;
  const ended = done + failed + expired + refused;
  return ended === 0 ? 0 : ((failed + expired + refused) / ended) * 100;
}
