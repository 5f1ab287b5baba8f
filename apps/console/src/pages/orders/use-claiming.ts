import type { Bot } from '@muster/contracts';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { ask } from '../../api/ask.ts';
import { Refused } from '../../api/refused.ts';
import { serverNow } from '../../words/clock.ts';
import type { Board } from './board.ts';
import { claimable } from './claimable.ts';
import { lead } from './lead.ts';
import { ownBots } from './own-bots.ts';

/** How often the board is read for an order whose time is up but whose callback is late. */
const OVERDUE_MS = 1_000;

/**
 * While `auto` is on, the leading tab claims for every idle bot of this browser as soon as an order waits, and again when a bot's
 * time is up. The server decides each claim, so two leaders at the same moment take nothing twice.
 */
export function useClaiming(
  tenant: string,
  board: Board | undefined,
  isOn: boolean,
): { readonly isLeader: boolean } {
  const [isLeader, setLeader] = useState(false);
  const queries = useQueryClient();
  const claimedAt = useRef(new Map<string, number>());

  useEffect(() => {
    if (!isOn) return;
    const leading = lead(`muster-orders-${tenant}`, setLeader);
    return () => leading.stop();
  }, [tenant, isOn]);

  // one claim for each idle bot, while orders wait
  useEffect(() => {
    if (!isLeader || !isOn || !board) return;
    for (const bot of claimable(board, ownBots(tenant), claimedAt.current)) void claim(bot);
    async function claim(bot: Bot) {
      claimedAt.current.set(bot.id, Number.POSITIVE_INFINITY);
      try {
        await ask('POST', '/api/bots/:id/claim', { params: { id: bot.id } });
      } catch (error) {
        // it has an order already, or is gone: the next board shows that
        if (!(error instanceof Refused)) return;
      } finally {
        claimedAt.current.set(bot.id, Date.now());
        void queries.invalidateQueries({ queryKey: ['board'] });
      }
    }
  }, [isLeader, isOn, board, queries, tenant]);

  // the board is read at the end of each order, so that its bot gets the next one; a hidden tab does so only if it leads
  useEffect(() => {
    const ends = (board?.parts.PROCESSING.orders ?? []).flatMap((order) =>
      order.processingEndsAt ? [Date.parse(order.processingEndsAt)] : [],
    );
    if (ends.length === 0) return;
    const left = Math.min(...ends) - serverNow();
    const read = () => {
      if (!document.hidden || (isOn && isLeader)) void queries.invalidateQueries({ queryKey: ['board'] });
    };
    const timer = setTimeout(read, left > 0 ? left + 50 : OVERDUE_MS);
    return () => clearTimeout(timer);
  }, [board, queries, isOn, isLeader]);

  return { isLeader };
}
