import type { Command } from 'commander';
import { type AgentFlags, agent } from './agent.ts';
import { type RunnerFlags, runner } from './runner.ts';

/** What makes an action for commander of a command: see `run-command.ts`. */
type Wrap = <Args extends unknown[]>(
  run: (...args: Args) => Promise<number>,
) => (...args: Args) => Promise<void>;

/** `muster agent` and `muster runner`. They need no database, so their package carries none: see `agent-main.ts`. */
export function addAgentCommands(program: Command, command: Wrap): void {
  program
    .command('agent')
    .description('Run the agent of this host, which starts, stops and restarts services')
    .requiredOption('--server <address>', 'the URL of the server')
    .requiredOption('--token-file <file>', "the file with the agent's token")
    .option(
      '--allow-file <file>',
      'a file with the units the agent may control, one per line',
      '/etc/muster-agent/units',
    )
    .option('--state-dir <folder>', 'the folder for what must survive a crash', '/var/lib/muster-agent')
    .option('--max-running <n>', 'the most commands at once', '10')
    .option('--timeout <seconds>', 'the time limit of a command', '600')
    .option('--grace <seconds>', 'how long commands may keep running after a stop', '30')
    .option(
      '--enrolment-token-file <file>',
      'a file with an enrolment token, to register this host if it has no token yet',
    )
    .option('--name <name>', 'the name to register under (default: the host name)')
    .action(command((flags: AgentFlags) => agent(flags)));

  program
    .command('runner')
    .description('Run the runner of a PC, which keeps its slots full with one process per device')
    .requiredOption('--server <address>', 'the URL of the server')
    .requiredOption('--token-file <file>', "the file with the runner's token")
    .requiredOption('--pc <id>', 'the PC that the token belongs to')
    .requiredOption(
      '--exec <file>',
      'the program to run for each device; receives the payload as JSON on stdin',
    )
    .option('--state-dir <folder>', 'the folder for what must survive a crash', '/var/lib/muster-runner')
    .option('--max-running <n>', 'the most devices at once, within the slots of the PC', '1000')
    .option('--heartbeat <seconds>', 'how long each check for cancelled work waits at the server', '15')
    .option('--grace <seconds>', 'how long running devices may continue after a stop', '30')
    .addHelpText('after', '\nInput, output and exit codes of the program: docs/runner.md.')
    .action(command((flags: RunnerFlags) => runner(flags)));
}
