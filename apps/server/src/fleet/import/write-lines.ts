import type { Writable } from 'node:stream';
import type { ImportLine } from './import-devices.ts';

/**
 * Writes lines as they come, and takes the next ones only when the reader has taken these: five imports with unread
 * answers used up a heap of 300 MB. A reader that takes nothing for a minute is given up. Returns false then, or if the
 * reader is gone.
 */
const LONGEST_STANDSTILL_MS = 60_000;

export async function writeLines(
  chunks: AsyncIterable<readonly ImportLine[]>,
  answer: Writable,
  onLine: (line: ImportLine) => void,
  standstillMs = LONGEST_STANDSTILL_MS,
): Promise<boolean> {
  for await (const lines of chunks) {
    for (const line of lines) onLine(line);
    answer.write(lines.map(asText).join(''));
    if (answer.writableNeedDrain && !(await drained(answer, standstillMs))) return false;
  }
  return !answer.destroyed;
}

export function asText(line: ImportLine): string {
  return `${JSON.stringify(line)}\n`;
}

function drained(answer: Writable, withinMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (isDrained: boolean) => {
      clearTimeout(timer);
      answer.off('drain', onDrain).off('close', onClose);
      resolve(isDrained);
    };
    const onDrain = () => end(true);
    const onClose = () => end(false);
    const timer = setTimeout(onClose, withinMs);
    answer.on('drain', onDrain).on('close', onClose);
    if (answer.destroyed) onClose();
  });
}
