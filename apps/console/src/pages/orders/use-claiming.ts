import type { Bot } from '@muster/contracts';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { ask } from '../../api/ask.ts';
import { Refused } from '../../api/refused.ts';
import { serverNow } from '../../words/clock.ts';
import type { Board } from './board.ts';
import { lead } from './lead.ts';

/**
 * The leading tab claims for every idle bot as soon as one and an order are free, and looks again when a bot's time is over.
 * The server decides each claim, so two leaders for a moment take nothing twice.
 */
export function useClaiming(
  tenant: string,
  board: Board | undefined,
  isOn: boolean,
): { readonly isLeader: boolean } {
  const [isLeader, setLeader] = useState(false);
  const queries = useQueryClient();
  const under = useRef(new Set<string>());

  useEffect(() => {
    const leading = lead(`muster-orders-${tenant}`, setLeader);
    return () => leading.stop();
  }, [tenant]);

  // a claim for each idle bot, while orders wait
  useEffect(() => {
    if (!isLeader || !isOn || !board) return;
    const waiting = board.orders.filter((order) => order.status === 'PENDING').length;
    const idle = board.bots.filter((bot) => bot.status === 'IDLE' && !under.current.has(bot.id));
    for (const bot of idle.slice(0, waiting)) void claim(bot);
    async function claim(bot: Bot) {
      under.current.add(bot.id);
      try {
        await ask('POST', '/api/bots/:id/claim', { params: { id: bot.id } });
      } catch (error) {
        // it has an order already, or is gone: the next board says so
        if (!(error instanceof Refused)) return;
      } finally {
        under.current.delete(bot.id);
        void queries.invalidateQueries({ queryKey: ['board'] });
      }
    }
  }, [isLeader, isOn, board, queries]);

  // at the end of each order the board is read, so that its bot gets the next one
  useEffect(() => {
    const ends = (board?.orders ?? []).flatMap((order) =>
      order.status === 'PROCESSING' && order.processingEndsAt ? [Date.parse(order.processingEndsAt)] : [],
    );
    if (ends.length === 0) return;
    const wait = Math.max(0, Math.min(...ends) - serverNow()) + 50;
    const timer = setTimeout(() => void queries.invalidateQueries({ queryKey: ['board'] }), wait);
    return () => clearTimeout(timer);
  }, [board, queries]);

  return { isLeader };
}
