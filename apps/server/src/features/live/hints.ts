import type { LiveChanged } from '@muster/contracts';
import type { Page } from '../../events/recent-events.ts';

/** What has changed since the last message, up to what a message can name; beyond that, only that much has changed. */
export const MOST_NAMED = 500;
export const MOST_BYTES = 8_000;

export interface Hint {
  readonly event: 'changed' | 'many';
  readonly data: LiveChanged | Record<string, never>;
}

export class Hints {
  readonly #actions = new Set<string>();
  readonly #targets = new Set<string>();
  readonly #notes = new Set<string>();
  #isMany = false;

  get isEmpty(): boolean {
    return !this.#isMany && this.#count === 0;
  }

  get #count(): number {
    return this.#actions.size + this.#targets.size + this.#notes.size;
  }

  add({ events }: Pick<Page, 'events'>): void {
    for (const event of events) {
      if (this.#isMany) return;
      if (event.actionId !== null) this.#actions.add(event.actionId);
      if (event.laneName !== null) this.#targets.add(`${event.space}:${event.laneName}`);
      if (event.type === 'NOTED' && event.reason !== null) this.#notes.add(event.reason);
      if (this.#count > MOST_NAMED) this.addMany();
    }
  }

  addMany(): void {
    this.#clear();
    this.#isMany = true;
  }

  /** Null: nothing has changed. Starts over. */
  take(): Hint | null {
    if (this.isEmpty) return null;
    const data = { actions: [...this.#actions], targets: [...this.#targets], notes: [...this.#notes] };
    const isMany = this.#isMany || Buffer.byteLength(JSON.stringify(data)) > MOST_BYTES;
    this.#clear();
    return isMany ? { event: 'many', data: {} } : { event: 'changed', data };
  }

  #clear(): void {
    this.#isMany = false;
    for (const names of [this.#actions, this.#targets, this.#notes]) names.clear();
  }
}
