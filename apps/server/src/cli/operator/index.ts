import type { Command } from 'commander';
import { actionCommands } from './actions.ts';
import { batchCommands } from './batches.ts';
import { eventCommands } from './events.ts';
import { endOnWrongWords, group, type Ways } from './run.ts';
import type { Surroundings } from './session.ts';
import { deviceCommands, hostCommands, laneCommands, pcCommands } from './targets.ts';

/** Operator commands over HTTP, with the token of MUSTER_TOKEN: what the console can do. */
export function addOperatorCommands(program: Command, around: Surroundings, ways: Ways): void {
  const of = (name: string, description: string) => group(program, around, name, description, ways);
  actionCommands(of('action', 'Manage actions of every door, over HTTP (MUSTER_URL, MUSTER_TOKEN)'));
  deviceCommands(of('device', 'Manage devices, over HTTP'));
  hostCommands(of('host', 'Manage hosts and their services, over HTTP'));
  laneCommands(of('lane', 'Manage generic lanes, over HTTP'));
  pcCommands(of('pc', 'List PCs, over HTTP'));
  batchCommands(of('batch', 'Manage batches, over HTTP'));
  eventCommands(of('events', 'Follow events, over HTTP'));
  endOnWrongWords(program, ways.leave);
}
