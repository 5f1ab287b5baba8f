/**
 * How much may wait, in calls and in bytes. A tenant may have at most four times what is still free, so one alone gets
 * four fifths and ten at once a fortieth each. The last part is kept for tenants that have nothing waiting: with calls
 * of 100 KB, three tenants filled all but half a megabyte of 64 MB, and a fourth's first call was refused.
 */
export interface RoomSize {
  readonly calls: number;
  readonly bytes: number;
}

export const ROOM: RoomSize = { calls: 20_000, bytes: 64 * 1_048_576 };
const TIMES_WHAT_IS_FREE = 4;
/** For newcomers: a hundred calls, or four with the largest body that most routes take. */
const LARGEST = 1_048_576;
const KEPT: RoomSize = { calls: 100, bytes: 4 * LARGEST };
/** In a small room, no more than what one tenant alone leaves free. */
const MOST_KEPT = 1 / (TIMES_WHAT_IS_FREE + 1);

export class Room {
  readonly #size: RoomSize;
  readonly #kept: RoomSize;
  readonly #byTenant = new Map<number, { calls: number; bytes: number }>();
  #calls = 0;
  #bytes = 0;

  constructor(size: RoomSize = ROOM) {
    this.#size = size;
    this.#kept = {
      calls: Math.min(KEPT.calls, Math.floor(size.calls * MOST_KEPT)),
      bytes: Math.min(KEPT.bytes, Math.floor(size.bytes * MOST_KEPT)),
    };
  }

  get calls(): number {
    return this.#calls;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** False: there is no room for it. */
  enter(tenant: number, bytes: number): boolean {
    const own = this.#byTenant.get(tenant) ?? { calls: 0, bytes: 0 };
    const kept = this.#keptFrom(own.calls, bytes);
    if (!fits(own.calls, 1, this.#size.calls - this.#calls, kept.calls)) return false;
    if (!fits(own.bytes, bytes, this.#size.bytes - this.#bytes, kept.bytes)) return false;
    this.#byTenant.set(tenant, own);
    this.#change(own, 1, bytes);
    return true;
  }

  leave(tenant: number, bytes: number): void {
    const own = this.#byTenant.get(tenant);
    if (!own) return;
    this.#change(own, -1, -bytes);
    if (own.calls === 0) this.#byTenant.delete(tenant);
  }

  /** Less of an admitted item is held from now on. */
  shrink(tenant: number, bytes: number): void {
    const own = this.#byTenant.get(tenant);
    if (own) this.#change(own, 0, -bytes);
  }

  /** An item of 16 MB is not admitted at the cost of four others, unless it has the room to itself. */
  #keptFrom(ownCalls: number, bytes: number): RoomSize {
    const mayHaveAll = this.#calls === 0 || (ownCalls === 0 && bytes <= LARGEST);
    return mayHaveAll ? { calls: 0, bytes: 0 } : this.#kept;
  }

  #change(own: { calls: number; bytes: number }, calls: number, bytes: number): void {
    own.calls += calls;
    own.bytes += bytes;
    this.#calls += calls;
    this.#bytes += bytes;
  }
}

/** The first item of a tenant only needs room for itself. */
function fits(own: number, more: number, free: number, kept: number): boolean {
  return more + kept <= free && (own === 0 || own + more <= TIMES_WHAT_IS_FREE * (free - more));
}
