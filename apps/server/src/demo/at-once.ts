/** Runs a function for all items, some at a time: the server gathers concurrent calls. */
const AT_ONCE = 24;

export async function atOnce<T>(list: readonly T[], act: (one: T) => Promise<unknown>): Promise<void> {
  const left = [...list];
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let next = left.shift(); next !== undefined; next = left.shift()) await act(next);
    }),
  );
}
