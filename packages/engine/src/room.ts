/**
 * How much may wait, in calls and in bytes. A tenant may have at most four times what is still free, so one alone gets four
 * fifths, ten at once a fortieth each, and whoever comes new always finds some room.
 */
export interface RoomSize {
  readonly calls: number;
  readonly bytes: number;
}

export const ROOM: RoomSize = { calls: 20_000, bytes: 64 * 1_048_576 };
const TIMES_WHAT_IS_FREE = 4;

export class Room {
  readonly #size: RoomSize;
  readonly #byTenant = new Map<number, { calls: number; bytes: number }>();
  #calls = 0;
  #bytes = 0;

  constructor(size: RoomSize = ROOM) {
    this.#size = size;
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
    if (!fits(own.calls, 1, this.#size.calls - this.#calls)) return false;
    if (!fits(own.bytes, bytes, this.#size.bytes - this.#bytes)) return false;
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

  /** Less of what has entered is held from now on. */
  shrink(tenant: number, bytes: number): void {
    const own = this.#byTenant.get(tenant);
    if (own) this.#change(own, 0, -bytes);
  }

  #change(own: { calls: number; bytes: number }, calls: number, bytes: number): void {
    own.calls += calls;
    own.bytes += bytes;
    this.#calls += calls;
    this.#bytes += bytes;
  }
}

/** The first of a tenant needs room only for itself. */
function fits(own: number, more: number, free: number): boolean {
  return more <= free && (own === 0 || own + more <= TIMES_WHAT_IS_FREE * (free - more));
}
