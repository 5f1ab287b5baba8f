import { readdirSync, readFileSync } from 'node:fs';
import { WEBHOOK_EVENTS } from '@muster/contracts/words';
import { expect, test } from 'vitest';

/** Every act of the audit log in the source, compared with the documented list. */
const source = new URL('../src/', import.meta.url);
const texts = readdirSync(source, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => readFileSync(new URL(file, source), 'utf8'));

/** As the value of a field `act`, or passed to the function that writes the line: then its noun is that of another act. */
function acts(): string[] {
  const named = texts.flatMap((text) => [...text.matchAll(/\bact: '([^']*)'/g)].map(([, act = '']) => act));
  const nouns = [...new Set(named.map((act) => act.split('.')[0]))].join('|');
  const handed = new RegExp(`(?<=[(\\s])'((?:${nouns}|tag|lane|tenant)\\.[a-z-]+)'(?=[,)])`, 'g');
  const found = texts.flatMap((text) => [...text.matchAll(handed)].map(([, act = '']) => act));
  // the names of webhook events are past tense and are not acts
  return [...named, ...found.filter((act) => !(WEBHOOK_EVENTS as readonly string[]).includes(act))];
}

test('an act of the audit log is a noun and a verb', () => {
  for (const act of acts()) expect(act).toMatch(/^[a-z]+\.[a-z]+(-[a-z]+)*$/);
});

test('the docs list every act of the audit log, and no other', () => {
  const page = readFileSync(new URL('../../../docs/operations.md', import.meta.url), 'utf8');
  const [, table = ''] = page.split('| noun | verbs |\n|---|---|\n');
  const listed = (table.split('\n\n')[0] ?? '').split('\n').flatMap((row) => {
    const [, noun = '', verbs = ''] = row.split('|').map((cell) => cell.trim().replaceAll('`', ''));
    return verbs.split(', ').map((verb) => `${noun}.${verb}`);
  });
  expect(listed.sort()).toEqual([...new Set(acts())].sort());
});
