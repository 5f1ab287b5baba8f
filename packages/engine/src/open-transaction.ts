import { AsyncLocalStorage } from 'node:async_hooks';
import { EngineError } from './errors.ts';

/**
 * Knows whether the running chain of calls has one of our transactions open. A database call made outside that
 * transaction from inside it would wait for ever for the only embedded connection, and on a server could wait for its
 * own locks.
 */
const openTransaction = new AsyncLocalStorage<{ open: boolean }>();
let howMany = 0;

export function refuseInsideTransaction(): void {
  if (openTransaction.getStore()?.open) {
    throw new EngineError(
      'MUSTER_OUTSIDE_TRANSACTION',
      'This call was made outside the open transaction. Pass the transaction as the first argument.',
    );
  }
}

export async function markTransaction<T>(run: () => Promise<T>): Promise<T> {
  const mark = { open: true };
  howMany += 1;
  try {
    return await openTransaction.run(mark, run);
  } finally {
    mark.open = false;
    howMany -= 1;
    // While it is in use, every promise of the process pays for it (1.0 → 2.4 µs measured on Node 20).
    if (howMany === 0) openTransaction.disable();
  }
}
