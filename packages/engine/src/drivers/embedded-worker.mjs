// The thread of the embedded database: bytes of the wire protocol in, bytes out, strictly one after the other.
// Plain JavaScript, so that a thread can run it from the sources as well as from the build.

import { openAsBlob } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { PGlite } from '@electric-sql/pglite';

const port = parentPort;
if (!port) throw new Error('This file is started as a worker thread.');

/** @type {{ dataDir: string, image?: string, compiled?: object }} */
const { dataDir, image, compiled } = workerData;

try {
  const db = await PGlite.create(dataDir, {
    ...(image ? { loadDataDir: await openAsBlob(image) } : {}),
    ...(compiled ? { pgliteWasmModule: compiled } : {}),
  });
  port.on('message', async (/** @type {Uint8Array | 'close'} */ message) => {
    if (message === 'close') {
      await db.close();
      process.exit(0);
    }
    try {
      const bytes = new Uint8Array(await db.execProtocolRaw(message));
      port.postMessage({ bytes }, [bytes.buffer]);
    } catch (error) {
      port.postMessage({ failed: String(error) });
    }
  });
  port.postMessage({ ready: true });
} catch (error) {
  port.postMessage({ failed: `The embedded database in ${dataDir} could not be opened: ${String(error)}` });
}
