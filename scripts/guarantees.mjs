// Finds the tests that show the promises of docs/guarantees.md: their titles begin with the numbers (`G7 G15: …`).
// Run by itself it rewrites the list of tests under each promise; the unit test only reads.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
export const page = path.join(root, 'docs/guarantees.md');

const TAGS = /^((?:G\d+\s+)*G\d+)\b[^:]*:/;

/**
 * Every tagged title, by file.
 * @param {string} source
 * @returns {{ tags: string[], title: string }[]}
 */
export function taggedTitles(source) {
  return [...source.matchAll(/(['"`])((?:G\d+[ :])(?:\\.|(?!\1)[^\\])*)\1/g)].flatMap(([, , text = '']) => {
    const title = text.replace(/\\(['"`])/g, '$1');
    const tags = TAGS.exec(title)?.[1]?.split(/\s+/);
    return tags ? [{ tags, title }] : [];
  });
}

/** @returns {Map<string, { file: string, title: string }[]>} by number */
export function findTests() {
  const found = new Map();
  for (const workspace of ['packages', 'apps'])
    for (const name of readdirSync(path.join(root, workspace)))
      for (const file of testFiles(path.join(workspace, name, 'test')))
        for (const { tags, title } of taggedTitles(readFileSync(path.join(root, file), 'utf8')))
          for (const tag of tags) found.set(tag, [...(found.get(tag) ?? []), { file, title }]);
  return found;
}

/**
 * @param {string} folder
 * @returns {string[]}
 */
function testFiles(folder) {
  try {
    return readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.test.ts') && !file.includes('node_modules'))
      .map((file) => path.join(folder, file))
      .sort();
  } catch {
    return [];
  }
}

/**
 * The promises of the page with the tests that are listed under them.
 * @param {string} text
 * @returns {{ tag: string, sentence: string, tests: { file: string, title: string }[] }[]}
 */
export function promises(text) {
  return [...text.matchAll(/^\*\*(G\d+)\.\*\* (.+)\n((?:\n?- .+\n(?: {2}- .+\n)*)*)/gm)].map(
    ([, tag = '', sentence = '', list = '']) => {
      let file = '';
      const tests = [];
      for (const line of list.split('\n')) {
        const inFile = /^- `(.+)`$/.exec(line);
        const title = /^ {2}- (.+)$/.exec(line);
        if (inFile) file = inFile[1] ?? '';
        else if (title) tests.push({ file, title: title[1] ?? '' });
      }
      return { tag, sentence, tests };
    },
  );
}

/**
 * The page with its lists written anew. A promise without a test gets an empty list: the unit test says so.
 * @param {string} text
 * @param {Map<string, { file: string, title: string }[]>} found
 */
export function withLists(text, found) {
  return text.replace(
    /^\*\*(G\d+)\.\*\* (.+)\n(?:(?:\n?- .+\n(?: {2}- .+\n)*)*)/gm,
    (_whole, tag, sentence) => `**${tag}.** ${sentence}\n${listOf(found.get(tag) ?? [])}`,
  );
}

/** @param {{ file: string, title: string }[]} tests */
function listOf(tests) {
  const files = [...new Set(tests.map(({ file }) => file))].sort();
  if (files.length === 0) return '';
  const part = (/** @type {string} */ file) =>
    [`- \`${file}\``, ...tests.filter((test) => test.file === file).map(({ title }) => `  - ${title}`)].join(
      '\n',
    );
  return `\n${files.map(part).join('\n')}\n`;
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  writeFileSync(page, withLists(readFileSync(page, 'utf8'), findTests()));
