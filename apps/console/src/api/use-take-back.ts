import { useCallback } from 'react';
import { ask } from './ask.ts';
import type { useAct } from './use-act.ts';

/**
 * Undo of what was queued just now. Only what still waits is cancelled; what was handed out meanwhile continues, and a button
 * offers to ask it to stop: a different act, with other consequences.
 */
export function useTakeBack(act: ReturnType<typeof useAct>['act']) {
  return useCallback(
    (id: string) =>
      void act(
        () => ask('POST', '/api/actions/cancel', { body: { ids: [id], state: 'pending' } }),
        ({ cancelled, requested }) =>
          cancelled > 0
            ? { text: 'It is cancelled.' }
            : requested > 0
              ? // handed out at that moment
                { text: 'It was asked to stop.' }
              : {
                  text: 'It was already handed out and continues.',
                  undo: {
                    word: 'Ask to stop',
                    act: () =>
                      void act(
                        () => ask('POST', '/api/actions/:id/cancel', { params: { id }, body: {} }),
                        ({ state }) => ({
                          text: state === 'claimed' ? 'It was asked to stop.' : 'It is cancelled.',
                        }),
                      ),
                  },
                },
      ),
    [act],
  );
}
