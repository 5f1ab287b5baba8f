import { MusterError } from '../errors.ts';

/**
 * Reads back what was stored, for the answer; `what` is "action 12". If only this read fails, the change is still
 * committed: an error that says "nothing was changed" would be false, and a client that believes it would send the
 * request again.
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
