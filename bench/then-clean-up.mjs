/**
 * Like `finally`, but the error of the work is thrown, not that of the clean-up, which it caused.
 * @template T
 * @param {() => Promise<T>} work
 * @param {() => Promise<void>} cleanUp
 * @param {(sentence: string) => void} [log]
 */
export async function thenCleanUp(work, cleanUp, log = console.error) {
  let result;
  try {
    result = await work();
  } catch (error) {
    await cleanUp().catch((other) => log(`Nor could it be cleaned up: ${other.message}`));
    throw error;
  }
  await cleanUp();
  return result;
}
