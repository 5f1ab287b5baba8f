import { Line, type Place } from './line.ts';

/** A queue for several tenants: first in, first out within a tenant, round-robin across tenants. Every step is O(1). */
interface Member {
  readonly tenant: number;
}

interface OfTenant<T> {
  readonly tenant: number;
  readonly line: Line<T>;
}

export class FairLine<T extends Member> {
  readonly #turns = new Line<OfTenant<T>>();
  readonly #byTenant = new Map<number, OfTenant<T>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  push(member: T): () => void {
    let own = this.#byTenant.get(member.tenant);
    if (!own) {
      own = { tenant: member.tenant, line: new Line() };
      this.#byTenant.set(member.tenant, own);
      this.#turns.push(own);
    }
    const { line } = own;
    const place: Place<T> = line.push(member);
    this.#size += 1;
    return () => {
      if (!place.isIn) return;
      line.remove(place);
      this.#size -= 1;
    };
  }

  /** The tenant whose turn it is. */
  get first(): T | undefined {
    for (let own = this.#turns.first; own; own = this.#turns.first) {
      if (own.line.size > 0) return own.line.first;
      this.#turns.shift();
      this.#byTenant.delete(own.tenant);
    }
    return undefined;
  }

  /** The next item of this tenant, whether or not it is its turn. */
  firstOf(tenant: number): T | undefined {
    return this.#byTenant.get(tenant)?.line.first;
  }

  shiftOf(tenant: number): T | undefined {
    const member = this.#byTenant.get(tenant)?.line.shift();
    if (member !== undefined) this.#size -= 1;
    return member;
  }

  shift(): T | undefined {
    if (this.first === undefined) return undefined;
    const own = this.#turns.shift() as OfTenant<T>;
    const member = own.line.shift();
    this.#size -= 1;
    if (own.line.size > 0) this.#turns.push(own);
    else this.#byTenant.delete(own.tenant);
    return member;
  }
}
