/** Six requests at once: a browser has six connections to a server without HTTP/2, and a click must not wait behind reads. */
const MOST = 6;
let under = 0;
const waiting: (() => void)[] = [];

export async function withRoom<T>(run: () => Promise<T>): Promise<T> {
  if (under >= MOST) await new Promise<void>((go) => waiting.push(go));
  else under += 1;
  try {
    return await run();
  } finally {
    const next = waiting.shift();
    if (next) next();
    else under -= 1;
  }
}
