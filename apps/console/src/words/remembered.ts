/** A choice that this browser keeps. Without storage it lasts as long as the page. */
export interface Remembered<T extends string> {
  read(): T;
  write(value: T): void;
  watch(tell: () => void): () => void;
}

export function remembered<T extends string>(key: string, known: readonly T[], first: T): Remembered<T> {
  const watching = new Set<() => void>();
  let value = stored(key, known) ?? first;
  // chosen in another tab
  addEventListener('storage', (event) => {
    if (event.key !== key) return;
    value = stored(key, known) ?? first;
    for (const tell of watching) tell();
  });
  return {
    read: () => value,
    write(next) {
      value = next;
      try {
        localStorage.setItem(key, next);
      } catch {
        // then only on this page
      }
      for (const tell of watching) tell();
    },
    watch(tell) {
      watching.add(tell);
      return () => watching.delete(tell);
    },
  };
}

function stored<T extends string>(key: string, known: readonly T[]): T | undefined {
  try {
    return known.find((one) => one === localStorage.getItem(key));
  } catch {
    return undefined;
  }
}
