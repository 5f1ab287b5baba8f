import { KINDS, KINDS_BY_HAND, ROLES } from '@muster/contracts/words';
import { Command } from 'commander';
import { clientEnvironment } from '../config.ts';
import { VERSION } from '../http/version.ts';
import { type AgentFlags, agent } from './agent.ts';
import { doctor } from './doctor.ts';
import { addOperatorCommands } from './operator/index.ts';
import { command, runCommand } from './run-command.ts';
import { type RunnerFlags, runner } from './runner.ts';
import { exportTo, importFrom } from './transfer.ts';

/** `muster …`: takes the words apart and hands them on. */

// `muster token list | head -1`: whoever reads has seen enough.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});

const program = new Command('muster')
  .description('A self-hosted command plane for fleets that are not always online')
  .version(VERSION)
  .addHelpText('after', '\nSettings come from the environment; docs/operations.md describes each of them.');

program
  .command('serve')
  .description('Start the server')
  // loaded only here: the other commands need no HTTP server and start in half the time without one
  .action(async () => (await import('./serve.ts')).serve());

program
  .command('agent')
  .description('Run the agent of this host: it starts, stops and restarts services')
  .requiredOption('--server <address>', 'the address of the server')
  .requiredOption('--token-file <file>', "the file with the agent's token")
  .option('--allow-file <file>', 'the units that may be touched, one per line', '/etc/muster-agent/units')
  .option('--state-dir <folder>', 'where it keeps what must survive a crash', '/var/lib/muster-agent')
  .option('--max-running <n>', 'how many commands run at once', '10')
  .option('--timeout <seconds>', 'when a command is ended', '600')
  .option('--grace <seconds>', 'how long commands may go on after a stop', '30')
  .option('--enrolment-token-file <file>', 'register this host, if there is no token yet')
  .option('--name <name>', 'the name to register under (default: the host name)')
  .action(command((flags: AgentFlags) => agent(flags)));

program
  .command('runner')
  .description('Run the runner of a PC: it keeps the slots of the PC full, with one process per device')
  .requiredOption('--server <address>', 'the address of the server')
  .requiredOption('--token-file <file>', "the file with the runner's token")
  .requiredOption('--pc <id>', 'the PC that the token belongs to')
  .requiredOption('--exec <file>', 'what is run for each device; gets the payload as JSON on its input')
  .option('--state-dir <folder>', 'where it keeps what must survive a crash', '/var/lib/muster-runner')
  .option('--max-running <n>', 'how many devices at once, whatever the slots of the PC', '1000')
  .option('--heartbeat <seconds>', 'how often it asks whether what runs was cancelled', '15')
  .option('--grace <seconds>', 'how long running devices may go on after a stop', '30')
  .addHelpText('after', '\nWhat the file gets, answers and the exit codes: docs/runner.md.')
  .action(command((flags: RunnerFlags) => runner(flags)));

const migrate = program.command('migrate').description('The tables of the database');
migrate
  .command('up')
  .description('Bring them up to date')
  .action(command(() => runCommand('migrate up', {})));
migrate
  .command('down')
  .description('Take the newest migration back, with what is in its tables')
  .option('--all', 'take every migration back: everything is gone')
  .action(command((options: { all?: boolean }) => runCommand('migrate down', options)));
migrate
  .command('list')
  .description('Show all migrations and when they were applied')
  .action(command(() => runCommand('migrate list', {})));
migrate
  .command('validate')
  .description('Compare the tables with what they should be')
  .action(command(() => runCommand('migrate validate', {})));

const token = program.command('token').description('Tokens; secrets are shown once');
const TENANT = ['--tenant <name>', 'the tenant it belongs to (default: "default")'] as const;
token
  .command('create')
  .description('Issue a token')
  .requiredOption('--name <name>', 'what it is for; shows up as creator of actions and in the audit log')
  .option('--kind <kind>', KINDS_BY_HAND.join(', '), 'operator')
  .option('--role <role>', `for operators: ${ROLES.join(', ')} (default: operator)`)
  .option('--lane <lane...>', 'for workers: the only lanes it is for')
  .option(...TENANT)
  .action(
    command((options: { lane?: string[]; kind: string; name: string; role?: string; tenant?: string }) => {
      const { lane: lanes, ...rest } = options;
      return runCommand('token create', { ...rest, ...(lanes ? { lanes } : {}) });
    }),
  );
token
  .command('list')
  .description('Show the tokens that were issued by hand, without their secrets')
  .option('--kind <kind>', `others: ${KINDS.join(', ')}`)
  .option(...TENANT)
  .action(command((options: object) => runCommand('token list', options)));
token
  .command('revoke <id>')
  .description('End a token, at once and on all nodes')
  .option(...TENANT)
  .action(command((id: string, options: object) => runCommand('token revoke', { ...options, id })));
token
  .command('rotate <id>')
  .description('Issue a new secret; the old one is valid until the new one is first used')
  .option(...TENANT)
  .action(command((id: string, options: object) => runCommand('token rotate', { ...options, id })));

const tenant = program.command('tenant').description('Tenants');
tenant
  .command('create <name>')
  .description('Add a tenant')
  .action(command((name: string) => runCommand('tenant create', { name })));
tenant
  .command('list')
  .description('Show all tenants')
  .action(command(() => runCommand('tenant list', {})));

program
  .command('doctor')
  .description('Say what is wrong with Node, settings, data folder, database, clock and port')
  .action(command(doctor));
program
  .command('check')
  .description('Hold the history of every action against the promises of docs/guarantees.md; changes nothing')
  .action(command(() => runCommand('check', {})));
program
  .command('restored')
  .description('Say that the database was brought back from a backup: readers of the event feed begin again')
  .action(command(() => runCommand('restored', {})));
program
  .command('export <file>')
  .description('Write everything into a file, to move it to another database')
  .action(command(exportTo));
program
  .command('import <file>')
  .description('Read such a file into an empty database')
  .action(command(importFrom));

addOperatorCommands(
  program,
  {
    env: clientEnvironment(),
    say: (line) => console.log(line),
    note: (line) => console.error(line),
    draw: process.stderr.isTTY ? (line) => process.stderr.write(`\r\x1b[K${line}`) : undefined,
    now: () => new Date(),
  },
  {
    end: (code) => {
      process.exitCode = code;
    },
    leave: (code) => process.exit(code),
  },
);

await program.parseAsync();
