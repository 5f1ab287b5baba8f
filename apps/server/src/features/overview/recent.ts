/** An answer that many pages request, cached for a moment per tenant: one read for all of them. */
interface Kept<T> {
  readonly at: number;
  readonly answer: Promise<T>;
}

const MOST_TENANTS = 1_000;

export class Recent<T> {
  readonly #byTenant = new Map<number, Kept<T>>();
  readonly #keptMs: number;
  readonly #now: () => Date;

  constructor(keptMs: number, now: () => Date) {
    this.#keptMs = keptMs;
    this.#now = now;
  }

  of(tenantId: number, read: () => Promise<T>): Promise<T> {
    const at = this.#now().getTime();
    const known = this.#byTenant.get(tenantId);
    if (known && at - known.at < this.#keptMs && at >= known.at) return known.answer;
    const answer = read();
    this.#byTenant.delete(tenantId);
    if (this.#byTenant.size >= MOST_TENANTS) this.#byTenant.clear();
    this.#byTenant.set(tenantId, { at, answer });
    // an error goes only to the callers that wait for it
    answer.catch(() => {
      if (this.#byTenant.get(tenantId)?.answer === answer) this.#byTenant.delete(tenantId);
    });
    return answer;
  }
}
