import type { Batch } from '@muster/contracts';
import { useState } from 'react';
import { ask } from '../../api/ask.ts';
import { useAct } from '../../api/use-act.ts';
import { useMay } from '../../session/session.tsx';
import { Button } from '../../ui/button.tsx';
import { Confirm, type Confirmation } from '../../ui/confirm.tsx';
import { Menu } from '../../ui/menu.tsx';
import { AT_ONCE } from '../../words/at-once.ts';
import { count } from '../../words/numbers.ts';
import { PauseBatch } from './pause-batch.tsx';

/** Retry, pause and resume; cancelling a batch requires typing its number. */
export function BatchActs({ batch }: { batch: Batch }) {
  const { act, busy } = useAct();
  const may = useMay('operator');
  const [asked, setAsked] = useState<Confirmation>();
  if (!may) return null;
  const params = { id: batch.id };
  const { counts, status } = batch;
  const isOpen = status === 'running' || status === 'supplying' || status === 'paused';
  const left = counts.waiting + counts.pending + counts.sent;
  const again = counts.failed + counts.stopped + counts.cancelled + counts.expired + counts.refused;

  const retry = (clearError = false) =>
    void act(
      () => ask('POST', '/api/batches/:id/retry', { params, body: clearError ? { clearError } : {} }),
      ({ again: anew, redriven, refused }) => ({
        text: `${count(redriven)} tried again, ${count(anew)} queued again${refused > 0 ? `, ${count(refused)} refused: their devices are in error` : ''}.`,
        ...(refused > 0
          ? { undo: { word: `Clear and retry ${count(refused)}`, act: () => retry(true) } }
          : {}),
      }),
    );
  const cancel = () =>
    setAsked({
      title: 'Cancel this batch?',
      about: `${count(left)} have not ended: waiting ones are cancelled, running ones are asked to stop.`,
      verb: `Cancel ${count(left)}`,
      danger: true,
      typed: String(left),
      act: () =>
        void act(() => ask('POST', '/api/batches/:id/cancel', { params }), { text: 'Batch cancelled.' }),
    });
  const askRetry = () =>
    again <= AT_ONCE
      ? retry()
      : setAsked({
          title: `Retry ${count(again)}?`,
          about: 'Failed ones are redriven; those that never reached their device get a new action.',
          verb: `Retry ${count(again)}`,
          act: () => retry(),
        });
  return (
    <>
      {again > 0 && (
        <Button disabled={busy} onClick={askRetry}>
          Retry {count(again)} failed or never started
        </Button>
      )}
      <PauseBatch batch={batch} />
      {isOpen && <Menu items={[{ word: 'Cancel the batch …', danger: true, act: cancel }]} />}
      <Confirm asked={asked} onClose={() => setAsked(undefined)} />
    </>
  );
}
