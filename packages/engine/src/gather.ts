import { Gatherer } from './gatherer.ts';
import type { Busy, Operation } from './operation.ts';
import { Places } from './places.ts';
import type { RoomSize } from './room.ts';

/** The engine's gathering for statements of the application: bounded, fair, with a deadline. */
export interface Gathering<Item, Answer> {
  readonly name: string;
  /** One answer per item, in their order; BUSY: nothing was done for the item, and it is to be tried again. */
  run(items: readonly Item[]): Promise<readonly (Answer | Busy)[]>;
  /** Items with an equal key never share a run. */
  key?(item: Item): string;
  readonly inFlightAtOnce: number;
  readonly deadlineMs: number;
  readonly room?: RoomSize;
  /** The tenant whose share of the waiting room it uses; by default its `tenantId`. */
  tenant?(item: Item): number;
}

export function gather<Item, Answer>(gathering: Gathering<Item, Answer>): (item: Item) => Promise<Answer> {
  const operation: Operation<Item, Answer> = {
    name: gathering.name,
    key: (item) => gathering.key?.(item) ?? null,
    ...(gathering.tenant ? { tenant: gathering.tenant } : {}),
    run: () => Promise.reject(new Error('The gatherer runs it.')),
  };
  const gatherer = new Gatherer<Item, Answer>(operation, {
    writers: gathering.inFlightAtOnce,
    deadlineMs: gathering.deadlineMs,
    room: gathering.room,
    alone: new Places(1),
    run: async (_, items) => ({ answers: [...(await gathering.run(items))], transitions: [], wakes: [] }),
  });
  return (item) => gatherer.add(item);
}
