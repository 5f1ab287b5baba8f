/** A queue whose members can leave from anywhere at the cost of one step: a doubly linked list. */
export interface Place<T> {
  readonly value: T;
  before: Place<T> | null;
  after: Place<T> | null;
  isIn: boolean;
}

export class Line<T> {
  #first: Place<T> | null = null;
  #last: Place<T> | null = null;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get first(): T | undefined {
    return this.#first?.value;
  }

  push(value: T): Place<T> {
    const place: Place<T> = { value, before: this.#last, after: null, isIn: true };
    if (this.#last) this.#last.after = place;
    else this.#first = place;
    this.#last = place;
    this.#size += 1;
    return place;
  }

  shift(): T | undefined {
    const place = this.#first;
    if (!place) return undefined;
    this.remove(place);
    return place.value;
  }

  /** Does nothing if it has already left. */
  remove(place: Place<T>): void {
    if (!place.isIn) return;
    place.isIn = false;
    if (place.before) place.before.after = place.after;
    else this.#first = place.after;
    if (place.after) place.after.before = place.before;
    else this.#last = place.before;
    this.#size -= 1;
  }
}
