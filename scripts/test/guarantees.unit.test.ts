import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { findTests, page, promises, taggedTitles, withLists } from '../guarantees.mjs';

const text = readFileSync(page, 'utf8');
const found = findTests();

test('the promises are numbered without gaps', () => {
  // the page is ordered by subject: a later promise stands where it belongs
  const numbers = promises(text).map(({ tag }) => Number(tag.slice(1)));
  expect(numbers.sort((a, b) => a - b)).toEqual(numbers.map((_, n) => n + 1));
  expect(numbers.length).toBeGreaterThan(50);
});

describe.each(promises(text))('$tag', ({ tag, tests }) => {
  test('names at least one test that shows it, and every test it names exists', () => {
    expect(tests.length, `${tag} names no test: run node scripts/guarantees.mjs`).toBeGreaterThan(0);
    for (const listed of tests) expect(found.get(tag) ?? []).toContainEqual(listed);
  });
});

test('no test carries the number of a promise that is not made', () => {
  const made = new Set(promises(text).map(({ tag }) => tag));
  expect([...found.keys()].filter((tag) => !made.has(tag))).toEqual([]);
});

test('titles are found with one number, several, a hole, and in tables', () => {
  const source = `
    test('G1: one', () => {});
    test.each([['G2: not a title of its own']])('G3 G4: two, %s', () => {});
    test("G18 hole a: it's here", () => {});
    test('no number', () => {});
    test('about G5: not at the beginning', () => {});`;
  expect(taggedTitles(source).map(({ tags }) => tags)).toEqual([['G1'], ['G2'], ['G3', 'G4'], ['G18']]);
});

test('a list is written anew under its promise and read back', () => {
  const before = '# x\n\n**G1.** A promise.\n\n- `old.test.ts`\n  - G1: old\n\n**G2.** Another.\n';
  const after = withLists(before, new Map([['G1', [{ file: 'new.test.ts', title: 'G1: new' }]]]));
  expect(after).toBe('# x\n\n**G1.** A promise.\n\n- `new.test.ts`\n  - G1: new\n\n**G2.** Another.\n');
  expect(promises(after)).toEqual([
    { tag: 'G1', sentence: 'A promise.', tests: [{ file: 'new.test.ts', title: 'G1: new' }] },
    { tag: 'G2', sentence: 'Another.', tests: [] },
  ]);
});
