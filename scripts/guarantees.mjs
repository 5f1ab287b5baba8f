// Finds the tests that prove the promises of docs/guarantees.md: their titles begin with the numbers (`G7 G15: …`).
// `node scripts/guarantees.mjs G7` lists the tests of G7; without a number, those of all promises.

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
export const page = path.join(root, 'docs/guarantees.md');

const TAGS = /^((?:G\d+\s+)*G\d+):/;

/**
 * Every tagged title of a file.
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
 * The promises of the page.
 * @param {string} text
 * @returns {{ tag: string, sentence: string }[]}
 */
export const promises = (text) =>
  [...text.matchAll(/^\*\*(G\d+)\.\*\* (.+)$/gm)].map(([, tag = '', sentence = '']) => ({ tag, sentence }));

/**
 * A promise with the tests that prove it, by file.
 * @param {{ tag: string, sentence: string }} promise
 * @param {{ file: string, title: string }[]} tests
 */
export function listed({ tag, sentence }, tests) {
  const lines = [`${tag}. ${sentence}`];
  for (const file of new Set(tests.map((test) => test.file)))
    lines.push(`  ${file}`, ...tests.filter((test) => test.file === file).map(({ title }) => `    ${title}`));
  return lines.join('\n');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [wanted] = process.argv.slice(2);
  const found = findTests();
  const all = promises(readFileSync(page, 'utf8')).filter(({ tag }) => !wanted || tag === wanted);
  if (all.length === 0) console.error(`There is no promise ${wanted}.`);
  else console.log(all.map((promise) => listed(promise, found.get(promise.tag) ?? [])).join('\n\n'));
  process.exitCode = all.length === 0 ? 1 : 0;
}
