import type { Action } from '@muster/contracts';
import { useState } from 'react';
import { ask } from '../../api/ask.ts';
import { useAct } from '../../api/use-act.ts';
import { useRedrive } from '../../api/use-redrive.tsx';
import { Button } from '../../ui/button.tsx';
import { Confirm, type Confirmation } from '../../ui/confirm.tsx';
import { nameOf } from '../../words/action-name.ts';
import { AT_ONCE } from '../../words/at-once.ts';
import { count, counted } from '../../words/numbers.ts';
import { clock } from '../../words/times.ts';
import { useZone } from '../../words/zone.ts';
import { type Filter, isMatchable, matching } from './filters.ts';
import type { Selection } from './use-selection.ts';

const TIMED = ['NOT_BEFORE', 'NOT_NOW', 'RETRY'];
/** Whether it waits for a time that its door lets operators change. */
const mayBeMadeDue = ({ fixed, state, waitingFor }: Action) =>
  state === 'pending' && TIMED.includes(waitingFor?.code ?? '') && !fixed?.includes('time');

interface Asked {
  /** What happens to them. */
  readonly what: string;
  /** Which of them it applies to. */
  readonly states: readonly string[];
  readonly danger?: boolean;
}

/** "12 selected · all that match (2 410, as of 03:12:44)", and what can be done to them. */
export function BulkBar(props: {
  selection: Selection;
  rows: readonly Action[];
  filter: Filter;
  readAt: number;
}) {
  const { selection, rows, filter, readAt } = props;
  const { act, busy } = useAct();
  const [zone] = useZone();
  const [asked, setAsked] = useState<Confirmation>();
  const { redrive: send } = useRedrive(setAsked);
  const [total, setTotal] = useState<{ count: number; more: boolean }>();
  const picked = rows.filter((row) => selection.ids.has(row.id));
  const isOpen = picked.length > 0 || selection.all;
  if (!isOpen) return null;

  const number = selection.all ? (total?.count ?? 0) : picked.length;
  const said = selection.all ? `${count(number)}${total?.more ? ' or more' : ''}` : count(number);
  const may = (states: readonly string[]) =>
    selection.all
      ? filter.state === undefined || states.includes(filter.state) || filter.state === 'unfinished'
      : picked.some((row) => states.includes(row.state));
  const mayBeDue = selection.all ? may(['pending']) : picked.some(mayBeMadeDue);
  const body = () => (selection.all ? matching(filter, readAt) : { ids: picked.map((row) => row.id) });

  const takeAll = async () => {
    const answer = await act(() =>
      ask('POST', '/api/actions/count', {
        body: { ...matching(filter, readAt), ...(filter.state ? { state: filter.state as 'failed' } : {}) },
      }),
    );
    if (!answer) return;
    setTotal(answer);
    selection.takeAll();
  };
  const examplesOf = (states: readonly string[]) =>
    (selection.all ? rows : picked)
      .filter(({ state }) => states.includes(state))
      .slice(0, 3)
      .map((row) => `${nameOf(row)} ${row.id}`)
      .join(', ');
  const cancel = async () => {
    const done = await act(
      () => ask('POST', '/api/actions/cancel', { body: body() }),
      ({ cancelled, requested }) => ({
        text: `${counted(cancelled, 'action')} cancelled${requested > 0 ? `, ${count(requested)} running asked to stop` : ''}.`,
      }),
    );
    if (done) selection.clear();
  };
  const redrive = async () => {
    const done = await send(body());
    // the selection stays while the dialog asks about the others
    if (done?.refusals.every(({ device }) => !device)) selection.clear();
  };
  const makeDue = async () => {
    const done = await act(
      () => ask('POST', '/api/actions/make-due', { body: body() }),
      ({ due }) => ({
        text: `${counted(due, 'action')} due now${due < number ? '; the others do not wait for a time' : ''}.`,
      }),
    );
    if (done) selection.clear();
  };
  const ask100 = (verb: string, run: () => Promise<void>, { what, states, danger = false }: Asked) => {
    if (number <= AT_ONCE) {
      void run();
      return;
    }
    const examples = examplesOf(states);
    setAsked({
      title: `${verb} ${said} actions?`,
      about: (
        <>
          {what} Actions that appeared after {clock(readAt, zone)} are not affected.
          {examples && ` For example ${examples}.`}
        </>
      ),
      verb: `${verb} ${said}`,
      danger,
      ...(danger ? { typed: String(number) } : {}),
      act: () => void run(),
    });
  };
  return (
    <div
      data-selected
      className="sticky bottom-0 z-20 flex flex-wrap items-center gap-3 border-t border-control bg-surface px-4 py-2"
    >
      <span className="font-medium">
        {selection.all ? `All ${said} that match, as of ${clock(readAt, zone)}` : `${said} selected`}
      </span>
      {!selection.all && isMatchable(filter) && (
        <Button look="quiet" disabled={busy} onClick={() => void takeAll()}>
          All that match
        </Button>
      )}
      <span className="flex-1" />
      {may(['failed']) && (
        <Button
          disabled={busy}
          onClick={() =>
            ask100('Redrive', redrive, {
              what: 'They go to the end of their lanes and are tried again.',
              states: ['failed'],
            })
          }
        >
          Redrive {said}
        </Button>
      )}
      {mayBeDue && (
        <Button
          disabled={busy}
          onClick={() =>
            ask100('Make due', makeDue, {
              what: 'Those that wait for their time or a retry become due now.',
              states: ['pending'],
            })
          }
        >
          Make {said} due
        </Button>
      )}
      {may(['pending', 'claimed']) && (
        <Button
          look="danger"
          disabled={busy}
          onClick={() =>
            ask100('Cancel', cancel, {
              what: 'Waiting ones end at once; running ones are asked to stop.',
              states: ['pending', 'claimed'],
              danger: true,
            })
          }
        >
          Cancel {said}
        </Button>
      )}
      <Button look="quiet" onClick={selection.clear}>
        Clear
      </Button>
      <Confirm asked={asked} onClose={() => setAsked(undefined)} />
    </div>
  );
}
