import { MusterError } from '@muster/client';
import type { Calls } from './calls.ts';
import type { Random } from './random.ts';
import type { Rhythm } from './rhythm.ts';

/** Bots that take one order after the other, and guests who order about as fast as they are served. */
const LOOKS_EVERY_MS = [1_500, 3_000] as const;
/** About this many orders should wait. */
const QUEUE = 14;
const VIP_PERCENT = 18;

export interface Board {
  /** For the existing bots. */
  live(tokens: readonly { readonly id: string; readonly token: string }[]): void;
  /** Places this many orders at once. */
  order(count: number, type: 'NORMAL' | 'VIP'): Promise<void>;
}

export function createBoard({ as, client }: Calls, rhythm: Rhythm, random: Random, operator: string): Board {
  const call = as(operator);

  async function order(count: number, type: 'NORMAL' | 'VIP'): Promise<void> {
    for (let n = 0; n < count; n += 1) {
      await client.orders.create({ ...call, body: { type } });
    }
  }

  async function claim(bot: { readonly id: string; readonly token: string }): Promise<void> {
    try {
      const answer = await client.bots.claim({ ...as(bot.token), params: { id: bot.id } });
      const taken = answer.status === 200 ? answer.body : null;
      if (!taken?.processingEndsAt) return;
      const takesMs = Date.parse(taken.processingEndsAt) - Date.now();
      await rhythm.pause(Math.max(0, takesMs));
    } catch (error) {
      // it already has one, given to it at the console; or it was removed there
      if (!(error instanceof MusterError && [401, 404, 409].includes(error.status))) throw error;
    }
  }

  return {
    order,
    live(bots) {
      for (const bot of bots)
        rhythm.every(
          () => random.between(...LOOKS_EVERY_MS),
          () => claim(bot),
        );
      rhythm.every(
        () => random.between(1_500, 4_000),
        async () => {
          // users of the console order and claim, too
          const { orders } = (await client.orders.list({ ...call, query: { limit: 2 * QUEUE } })).body;
          const waiting = orders.filter(({ status }) => status === 'PENDING').length;
          const missing = Math.ceil((QUEUE + random.between(-8, 6) - waiting) / 3);
          for (let n = 0; n < Math.min(missing, 4); n += 1)
            await order(1, random.percent(VIP_PERCENT) ? 'VIP' : 'NORMAL');
        },
      );
    },
  };
}
