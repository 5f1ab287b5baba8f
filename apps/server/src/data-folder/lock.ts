import { linkSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { processStart } from './process-start.ts';

/**
 * One owner per data folder. The lock is a file `lock.<n>` that names its owner's process; the one with the highest
 * number counts. A dead owner's lock is not removed but overtaken: the first process to link `lock.<n+1>` has it, and
 * linking is atomic. Only the winner removes lower numbers, so the highest number never disappears and two starting
 * processes can never both win:
 *
 *   highest is alive ──► refused
 *   highest is dead or none ──link n+1──► won, if nothing higher is there afterwards
 *                              └─exists─► look again
 */
interface Owner {
  readonly pid: number;
  readonly start: string | null;
}

export class FolderInUseError extends Error {
  /** Null: it answers, but its process cannot be seen from here. */
  readonly pid: number | null;

  constructor(folder: string, pid: number | null) {
    super(
      `The data folder ${folder} is in use by ${pid === null ? 'another server' : `process ${pid}`}. Stop it first, or set MUSTER_DATA_DIR to another folder.`,
    );
    this.name = 'FolderInUseError';
    this.pid = pid;
  }
}

const FORM = /^lock\.(\d{1,15})$/;
const MOST_TRIES = 100;

/** Throws FolderInUseError; otherwise returns how to release the lock. */
export function takeLock(folder: string): { release(): void } {
  const mine = path.join(folder, `.lock-of-${process.pid}-${Math.random().toString(36).slice(2)}`);
  const owner: Owner = { pid: process.pid, start: processStart(process.pid) };
  writeFileSync(mine, JSON.stringify(owner), { mode: 0o600 });
  try {
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      const number = overtake(folder, mine);
      if (number !== null) return { release: () => giveUp(folder, number) };
    }
    throw new Error(`The lock of the data folder ${folder} could not be taken.`);
  } finally {
    rmSync(mine, { force: true });
  }
}

/** The owner of the folder, if it is alive. */
export function ownerOf(folder: string): number | null {
  const highest = numbersIn(folder).at(-1);
  return highest === undefined ? null : livingOwner(path.join(folder, `lock.${highest}`));
}

function overtake(folder: string, mine: string): number | null {
  const highest = numbersIn(folder).at(-1) ?? 0;
  if (highest > 0) {
    const pid = livingOwner(path.join(folder, `lock.${highest}`));
    if (pid !== null) throw new FolderInUseError(folder, pid);
  }
  const number = highest + 1;
  try {
    linkSync(mine, path.join(folder, `lock.${number}`));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return null;
    throw error;
  }
  const now = numbersIn(folder);
  // The numbers read above may be outdated: others may have won, ended, and removed lower numbers meanwhile.
  if (now.at(-1) !== number) {
    rmSync(path.join(folder, `lock.${number}`), { force: true });
    return null;
  }
  for (const lower of now.slice(0, -1)) rmSync(path.join(folder, `lock.${lower}`), { force: true });
  return number;
}

/** The file stays without an owner: its number remains taken. */
function giveUp(folder: string, number: number): void {
  const empty = path.join(folder, `.lock-given-up-${process.pid}`);
  writeFileSync(empty, JSON.stringify({ pid: 0, start: null }), { mode: 0o600 });
  renameSync(empty, path.join(folder, `lock.${number}`));
}

function numbersIn(folder: string): number[] {
  return readdirSync(folder)
    .flatMap((name) => FORM.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b);
}

function livingOwner(file: string): number | null {
  let owner: Owner;
  try {
    owner = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    // ENOENT: overtaken, as the next look will show. Unreadable: a power failure left it empty.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' || error instanceof SyntaxError) return null;
    throw error;
  }
  if (owner.pid === 0) return null;
  const start = processStart(owner.pid);
  return start !== null && (owner.start === null || owner.start === start) ? owner.pid : null;
}
