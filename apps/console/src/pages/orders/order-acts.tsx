import type { Bot } from '@muster/contracts';
import { useState } from 'react';
import { ask } from '../../api/ask.ts';
import { useAct } from '../../api/use-act.ts';
import { Button } from '../../ui/button.tsx';
import { Confirm, type Confirmation } from '../../ui/confirm.tsx';
import { Menu } from '../../ui/menu.tsx';
import { botName } from '../../words/bot-name.ts';
import { ownBot } from './own-bots.ts';

/** New orders, more or fewer bots, and whether this browser claims for them. */
export function OrderActs(props: {
  bots: readonly Bot[];
  tenant: string;
  isAuto: boolean;
  setAuto: (on: boolean) => void;
}) {
  const { act, busy } = useAct();
  const [asked, setAsked] = useState<Confirmation>();
  const order = (type: 'NORMAL' | 'VIP') => void act(() => ask('POST', '/api/orders', { body: { type } }));
  // the newest bot goes first; its order returns to its old place
  const last = props.bots.at(-1);
  const remove = () =>
    last &&
    void act(() => ask('DELETE', '/api/bots/:id', { params: { id: last.id } }), {
      text: `The last one, ${botName(last)}, was deleted; its order waits in its old place.`,
    });
  const addBot = () =>
    void act(async () => {
      const bot = await ask('POST', '/api/bots');
      ownBot(props.tenant, bot.id);
    });
  const clear = () =>
    setAsked({
      title: 'Clear all orders?',
      about: 'Every order is deleted and every bot is idle; numbering continues.',
      verb: 'Clear all',
      danger: true,
      typed: 'everything',
      act: () =>
        void act(
          () => ask('POST', '/api/orders/clear'),
          ({ cleared }) => ({ text: `${cleared} orders deleted.` }),
        ),
    });
  return (
    <>
      {/* on a phone one row of four, as wide as the page */}
      <span className="grid w-full grid-cols-4 gap-2 md:flex md:w-auto">
        <Button look="first" disabled={busy} onClick={() => order('NORMAL')}>
          + Order
        </Button>
        <Button disabled={busy} onClick={() => order('VIP')}>
          + VIP
        </Button>
        <Button disabled={busy} onClick={addBot}>
          + Bot
        </Button>
        <Button disabled={busy || !last} onClick={remove}>
          − Bot
        </Button>
      </span>
      {/* kept together, so that the menu never wraps to its own row on a phone */}
      <span className="inline-flex w-full items-center justify-between gap-2 md:w-auto">
        <label className="inline-flex h-8 pointer-coarse:h-touch items-center gap-2 text-table">
          <input
            type="checkbox"
            role="switch"
            aria-checked={props.isAuto}
            className="size-4 accent-ink"
            checked={props.isAuto}
            onChange={(event) => props.setAuto(event.target.checked)}
          />
          auto
        </label>
        <Menu items={[{ word: 'Clear all orders …', danger: true, act: clear }]} />
      </span>
      <Confirm asked={asked} onClose={() => setAsked(undefined)} />
    </>
  );
}
