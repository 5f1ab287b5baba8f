import { Command } from 'commander';
import { CommandError } from '../commands/command.ts';
import { VERSION } from '../http/version.ts';
import { addAgentCommands } from './agent-commands.ts';

/**
 * The command of the Debian package muster-agent: only `agent` and `runner`. What it imports is what that package carries
 * (`scripts/package/carried.mjs`), so it imports no database and no HTTP server.
 */
const program = new Command('muster-agent')
  .description('The agent of a host and the runner of a PC')
  .version(VERSION);

addAgentCommands(program, (run) => async (...args) => {
  try {
    process.exitCode = await run(...args);
  } catch (error) {
    const { message, stack } = error as Error;
    console.error(error instanceof CommandError ? message : `Failed: ${stack ?? message}`);
    process.exitCode = 1;
  }
});

await program.parseAsync();
