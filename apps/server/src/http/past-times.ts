import { httpError } from './errors.ts';

/**
 * What is to be delivered or done by a time that has passed would expire at once: a slip, so it is said. A repetition of a
 * request that was taken in time is answered as the first one, however late it comes; that is only looked for if need be.
 */
export async function refusePast(
  now: Date,
  given: Readonly<Record<string, string | undefined>>,
  isRepetition: () => Promise<boolean> = async () => false,
): Promise<void> {
  const past = Object.keys(given).find(
    (field) => given[field] !== undefined && new Date(given[field]) <= now,
  );
  if (past !== undefined && !(await isRepetition()))
    throw httpError('MUSTER_BAD_BODY', `${past} is in the past.`);
}
