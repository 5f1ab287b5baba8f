import { Command } from 'commander';
import { VERSION } from '../version.ts';
import { serve } from './serve.ts';

/** `muster …`: takes the words apart and hands them on. */
const program = new Command('muster')
  .description('A self-hosted command plane for fleets that are not always online')
  .version(VERSION);

program
  .command('serve')
  .description('Start the server; settings come from the environment (see docs/operations.md)')
  .action(serve);

await program.parseAsync();
