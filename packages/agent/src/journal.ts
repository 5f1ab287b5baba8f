import { type FileHandle, mkdir, open, readFile, rename } from 'node:fs/promises';
import path from 'node:path';
import { syncFolder } from './kept-text.ts';
import type { Report } from './report.ts';
import { keyOf } from './work.ts';

/**
 * What must survive a crash: which attempts were started, and results that the server does not have yet. One JSON line per
 * fact, appended and flushed to the disk:
 *
 *   started ──────────► result ──────────► delivered
 *   (before the         (before it         (forgotten at the
 *    command runs)       is sent)           next start)
 *
 * A line that a crash cut off was never waited for, so it counts as not written. An open journal has its folder to itself.
 */
type Line =
  | { readonly t: 'started'; readonly id: string; readonly attempt: number; readonly at: string }
  | { readonly t: 'result'; readonly report: Report }
  | { readonly t: 'delivered'; readonly id: string; readonly attempt: number };

const FILE = 'journal.ndjson';
const REWRITE_AT_BYTES = 4_194_304;
/** Finished attempts are remembered for a while: an answer that lists them may still be on its way. */
const REMEMBERED = 10_000;

export class Journal {
  readonly #folder: string;
  readonly #started = new Map<string, Extract<Line, { t: 'started' }>>();
  readonly #results = new Map<string, Report>();
  readonly #over = new Set<string>();
  #file: FileHandle;
  #bytes = 0;
  #waiting: { text: string; done: () => void; failed: (error: unknown) => void }[] = [];
  #isWriting = false;
  /** A write failed half way: text appended to half a line would be lost, so the next write makes a new file. */
  #isTorn = false;
  #writing: Promise<void> = Promise.resolve();

  private constructor(folder: string, file: FileHandle) {
    this.#folder = folder;
    this.#file = file;
  }

  static async open(folder: string): Promise<Journal> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const name = path.join(folder, FILE);
    const text = await readFile(name, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return '';
      throw error;
    });
    const journal = new Journal(folder, await open(name, 'a', 0o600));
    for (const line of text.split('\n')) journal.#replay(line);
    await journal.#rewrite();
    return journal;
  }

  /** Started, and without a result: it is unknown how far they came. */
  get interrupted(): { id: string; attempt: number }[] {
    return [...this.#started.values()].filter((one) => !this.#results.has(keyOf(one)));
  }

  /** Results that the server does not have yet, oldest first. */
  get undelivered(): Report[] {
    return [...this.#results.values()];
  }

  /** Whether this attempt was started, however it went on. */
  knows(of: { id: string; attempt: number }): boolean {
    const key = keyOf(of);
    return this.#started.has(key) || this.#results.has(key) || this.#over.has(key);
  }

  /** Resolves when it is on the disk; the command must not run before. */
  started({ id, attempt }: { id: string; attempt: number }): Promise<void> {
    return this.#append({ t: 'started', id, attempt, at: new Date().toISOString() });
  }

  result(report: Report): Promise<void> {
    return this.#append({ t: 'result', report });
  }

  delivered({ id, attempt }: { id: string; attempt: number }): Promise<void> {
    return this.#append({ t: 'delivered', id, attempt });
  }

  /** Tries to write again; rejects if that is still impossible. */
  mend(): Promise<void> {
    return this.#isTorn ? this.#flushed('') : Promise.resolve();
  }

  async close(): Promise<void> {
    await this.#writing;
    await this.#file.close();
  }

  #replay(text: string): void {
    let line: Line;
    try {
      line = JSON.parse(text);
    } catch {
      return; // empty, or cut off
    }
    this.#apply(line);
  }

  #apply(line: Line): void {
    switch (line.t) {
      case 'started':
        this.#started.set(keyOf(line), line);
        break;
      case 'result':
        this.#results.set(keyOf({ id: line.report.actionId, attempt: line.report.attempt }), line.report);
        break;
      case 'delivered':
        this.#started.delete(keyOf(line));
        this.#results.delete(keyOf(line));
        this.#remember(keyOf(line));
        break;
    }
  }

  #remember(key: string): void {
    this.#over.add(key);
    if (this.#over.size <= REMEMBERED) return;
    const [oldest] = this.#over;
    if (oldest !== undefined) this.#over.delete(oldest);
  }

  /** Lines that arrive during a flush share the next one. */
  #append(line: Line): Promise<void> {
    this.#apply(line);
    return this.#flushed(`${JSON.stringify(line)}\n`);
  }

  #flushed(text: string): Promise<void> {
    return new Promise((done, failed) => {
      this.#waiting.push({ text, done, failed });
      if (this.#isWriting) return;
      this.#isWriting = true;
      this.#writing = this.#flush();
    });
  }

  async #flush(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      try {
        await this.#write(batch.map((one) => one.text).join(''));
        for (const { done } of batch) done();
      } catch (error) {
        this.#isTorn = true;
        for (const { failed } of batch) failed(error);
      }
    }
    // In the same turn as the last look at the list: a later call starts the next round.
    this.#isWriting = false;
  }

  async #write(text: string): Promise<void> {
    if (this.#isTorn) return this.#rewrite();
    await this.#file.appendFile(text);
    await this.#file.datasync();
    this.#bytes += Buffer.byteLength(text);
    if (this.#bytes > REWRITE_AT_BYTES) await this.#rewrite();
  }

  /** Only what is still needed, in a new file that replaces the old one in one step. */
  async #rewrite(): Promise<void> {
    const lines: Line[] = [
      ...this.#started.values(),
      ...[...this.#results.values()].map((report) => ({ t: 'result' as const, report })),
    ];
    const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
    const name = path.join(this.#folder, FILE);
    const fresh = await open(`${name}.new`, 'w', 0o600);
    try {
      await fresh.writeFile(text);
      await fresh.datasync();
      await rename(`${name}.new`, name);
    } catch (error) {
      await fresh.close();
      throw error;
    }
    const old = this.#file;
    this.#file = fresh;
    await syncFolder(this.#folder);
    await old.close();
    this.#bytes = Buffer.byteLength(text);
    this.#isTorn = false;
  }
}
