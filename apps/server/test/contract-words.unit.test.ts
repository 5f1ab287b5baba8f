import type { EventType as ContractEventType } from '@muster/contracts/words';
import { EVENT_TYPES } from '@muster/contracts/words';
import type { EventType } from '@muster/engine';
import { expect, expectTypeOf, test } from 'vitest';

test('the events of the contracts are those of the engine', () => {
  expectTypeOf<ContractEventType>().toEqualTypeOf<EventType>();
  expect(new Set(EVENT_TYPES).size).toBe(EVENT_TYPES.length);
});
