const NOT_FOUND = new Set(['ENOTFOUND', 'EAI_AGAIN']);

/**
 * Why the database could not be used, as part of a sentence. Of several attempts (IPv6, IPv4) the first says enough.
 * The name that was not found is not repeated: of a URL with an unescaped password it is a piece of that password.
 */
export function reasonOf(error: unknown): string {
  const [first] = error instanceof AggregateError ? error.errors : [error];
  if (!(first instanceof Error)) return String(first);
  const { code = '', syscall } = first as NodeJS.ErrnoException;
  if (NOT_FOUND.has(code) && syscall === 'getaddrinfo') return `the name of its host is not found (${code})`;
  return first.message.replace(/\.+$/, '') || code || 'no reason given';
}
