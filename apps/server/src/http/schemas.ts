import { z } from 'zod';

/** Pieces of schemas that every feature needs, with the sentence for a wrong value in their description. */
const LONGEST_NAME = 200;

// biome-ignore lint/suspicious/noControlCharactersInRegex: those are what it is about
const VISIBLE = /^[^\u0000-\u001f\u007f-\u009f]+$/u;

export const name = z
  .string()
  .min(1)
  .max(LONGEST_NAME)
  .regex(VISIBLE)
  .describe('text without control characters');
/** Lists go on behind the last id of the page before. A cursor of another form is refused everywhere alike. */
const A_CURSOR = 'one that this list has given';
export const cursor = z
  .string()
  .regex(/^[1-9]\d{0,17}$/)
  .describe(A_CURSOR);
/** Of a list that goes on behind a place in it: an integer of the database. */
export const placeCursor = z
  .string()
  .regex(/^[1-9]\d{0,8}$/)
  .describe(A_CURSOR);
export const time = z.iso.datetime({ offset: true });
export const wait = z.number().min(0).max(25).describe('How many seconds to wait for something to do.');
