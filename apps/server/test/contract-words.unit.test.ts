import { readFileSync } from 'node:fs';
import type { EventType as ContractEventType } from '@muster/contracts/words';
import { EVENT_TYPES } from '@muster/contracts/words';
import type { EventType } from '@muster/engine';
import { expect, expectTypeOf, test } from 'vitest';
import { stateWord } from '../src/cli/operator/words.ts';
import { wireStatus } from '../src/features/checkin/wire.ts';
import { statusOf as ofHost } from '../src/features/hosts/wire.ts';
import { statusOf as ofTask } from '../src/features/tasks/wire.ts';

test('the events of the contracts are those of the engine', () => {
  expectTypeOf<ContractEventType>().toEqualTypeOf<EventType>();
  expect(new Set(EVENT_TYPES).size).toBe(EVENT_TYPES.length);
});

const WORDS_OF_DOORS = /(?<=<!-- words of the doors -->\n)[\s\S]*(?=<!-- end of words of the doors -->)/;

test('docs/concepts.md maps the words of the doors as the doors and the command line do', () => {
  const page = readFileSync(new URL('../../../docs/concepts.md', import.meta.url), 'utf8');
  const rows = (WORDS_OF_DOORS.exec(page)?.[0].split('\n') ?? []).slice(2, -1).map((row) =>
    row
      .replaceAll('`', '')
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
  expect(rows.map(([, state]) => state)).toEqual(STATES);
  for (const [word, state = '', checkin, host, task, order = '–'] of rows) {
    expect([wireStatus(state), ofHost(state), ofTask(state)]).toEqual([checkin, host, task]);
    // the door of tasks says failed of an expired one, too
    const said = [state, checkin, host, state === 'expired' ? word : task, order === '–' ? word : order];
    expect(said.map((one) => stateWord(one as string))).toEqual(said.map(() => word));
  }
});

const STATES = ['pending', 'claimed', 'succeeded', 'failed', 'cancelled', 'expired'];
