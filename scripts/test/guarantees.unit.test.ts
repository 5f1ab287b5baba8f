import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { findTests, listed, page, promises, taggedTitles } from '../guarantees.mjs';

const text = readFileSync(page, 'utf8');
const made = promises(text).map(({ tag }) => tag);
const shown = [...findTests().keys()];

test('the promises are numbered without gaps', () => {
  // the page is ordered by subject, not by number
  const numbers = made.map((tag) => Number(tag.slice(1)));
  expect(numbers.sort((a, b) => a - b)).toEqual(numbers.map((_, n) => n + 1));
  expect(numbers.length).toBeGreaterThan(50);
});

test('each promise has a test, and no test names a promise that does not exist', () => {
  expect({ withoutTest: made.filter((tag) => !shown.includes(tag)) }).toEqual({ withoutTest: [] });
  expect({ notMade: shown.filter((tag) => !made.includes(tag)) }).toEqual({ notMade: [] });
});

test('titles are found with one number, several, and in tables', () => {
  const source = `
    test('G1: one', () => {});
    test.each([['G2: not a title of its own']])('G3 G4: two, %s', () => {});
    test("G18: it's here", () => {});
    test('no number', () => {});
    test('about G5: not at the beginning', () => {});`;
  expect(taggedTitles(source).map(({ tags }) => tags)).toEqual([['G1'], ['G2'], ['G3', 'G4'], ['G18']]);
});

test('a promise is listed with its tests by file', () => {
  const [promise] = promises('# x\n\n**G1.** A promise.\n\nMore of it.\n') as [
    { tag: string; sentence: string },
  ];
  const tests = ['G1: one', 'G1: two'].map((title) => ({ file: 'a.test.ts', title }));
  expect(listed(promise, tests)).toBe('G1. A promise.\n  a.test.ts\n    G1: one\n    G1: two');
});
