import type { Out } from '../commands/command.ts';

/** Answers go to the standard output, notes to the standard error. */
export function terminal(data: Out['data'] = unexpected): Out {
  return { say: (line) => console.log(line), note: (line) => console.error(line), data };
}

function unexpected(): Promise<void> {
  throw new Error('This command does not write a file.');
}
