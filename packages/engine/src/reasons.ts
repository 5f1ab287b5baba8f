import type { Queryable } from './db.ts';
import type { DoorReason } from './waiting-for.ts';

/** A door's answer to "why is it waiting?", asked once for a whole page of its channel's actions. */
export interface WaitingAction {
  readonly id: string;
  readonly tenantId: number;
  readonly laneId: string;
  readonly channel: string;
}
export type GiveReasons = (
  client: Queryable,
  waiting: readonly WaitingAction[],
) => Promise<Map<string, DoorReason>>;

export class Reasons {
  readonly #byChannel = new Map<string, GiveReasons>();

  register(channel: string, give: GiveReasons): void {
    if (this.#byChannel.has(channel)) throw new Error(`The channel ${channel} already gives reasons.`);
    this.#byChannel.set(channel, give);
  }

  async ask(client: Queryable, waiting: readonly WaitingAction[]): Promise<Map<string, DoorReason>> {
    const all = new Map<string, DoorReason>();
    for (const [channel, give] of this.#byChannel) {
      const own = waiting.filter((action) => action.channel === channel);
      if (own.length === 0) continue;
      for (const [id, reason] of await give(client, own)) all.set(id, reason);
    }
    return all;
  }
}
