import { MusterError } from '../errors.ts';

/**
 * Reads what the answer tells of something that is stored; `what` is "action 12". A failure of this is not that of what was
 * committed: "nothing was changed" would be a lie, and whoever believes it asks a second time.
 */
export async function readBack<T>(what: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (cause) {
    throw new MusterError(
      'MUSTER_NO_ANSWER',
      503,
      `This was stored as ${what} but could not be read back. Get ${what} instead of repeating the request.`,
      { cause },
    );
  }
}
