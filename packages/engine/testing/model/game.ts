/** Games of the model: random commands, and a table to play at, with an engine and its clock. */
import fc from 'fast-check';
import type { Engine } from '../../src/index.ts';
import { keepContacts } from '../keep-contacts.ts';
import { type TestEngine, testEngine } from '../test-engine.ts';
import { type Command, command } from './commands.ts';
import { clearWorld, createWorld, DEPTH_LIMIT, play } from './play.ts';

export const commands = fc.array(command, { minLength: 1, maxLength: 60, size: 'max' });

export interface Table extends TestEngine {
  /** One game, in a tenant of its own, on this engine or on another one of the same database. */
  play(list: readonly Command[], engine?: Engine): Promise<void>;
}

export async function table(): Promise<Table> {
  const t = await testEngine({ depthLimit: DEPTH_LIMIT });
  const contacts = await keepContacts(t.db);
  let tenants = 100;
  return Object.assign(t, {
    async play(list: readonly Command[], engine: Engine = t.engine) {
      tenants += 1;
      const world = await createWorld(engine, t.clock, contacts, tenants);
      try {
        await play(world, list);
      } finally {
        await clearWorld(world);
      }
    },
  });
}
