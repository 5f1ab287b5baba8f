import type { Batch } from '@muster/contracts';
import { stateWord } from './words.ts';

const CELLS = 24;
const WORDS: Readonly<Record<string, string>> = { waiting: 'not queued yet' };

/** `[##########x-------------] 612 succeeded + 9 failed + 379 pending = 1000`: zeros are left out. */
export function progress({ counts, total }: Pick<Batch, 'counts' | 'total'>): string {
  const { waiting, pending, sent, done, ...lost } = counts;
  const gone = Object.values(lost).reduce((sum, count) => sum + count, 0);
  const cells = (count: number) => (total === 0 ? 0 : Math.floor((count * CELLS) / total));
  const full = '#'.repeat(cells(done));
  // never hidden by rounding: a single failure is visible
  const bad = 'x'.repeat(Math.min(CELLS - full.length, gone > 0 ? Math.max(1, cells(gone)) : 0));
  const rest = '-'.repeat(CELLS - full.length - bad.length);
  const parts = Object.entries({ done, ...lost, sent, pending, waiting }).filter(([, count]) => count > 0);
  const sum = parts.map(([word, count]) => `${count} ${WORDS[word] ?? stateWord(word)}`).join(' + ') || '0';
  return `[${full}${bad}${rest}] ${sum} = ${total}`;
}
