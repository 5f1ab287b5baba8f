import { httpError } from './errors.ts';

/**
 * A delivery time or deadline in the past would expire at once: that is a mistake, so it is refused. A repetition of a
 * request that was accepted in time gets the answer of the first one, however late it comes; it is looked up only if
 * needed.
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
