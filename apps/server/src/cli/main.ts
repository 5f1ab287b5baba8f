import { KINDS, KINDS_BY_HAND, ROLES } from '@muster/contracts/words';
import { Command } from 'commander';
import { clientEnvironment } from '../config.ts';
import { VERSION } from '../http/version.ts';
import { addAgentCommands } from './agent-commands.ts';
import type { DemoFlags } from './demo.ts';
import { doctor } from './doctor.ts';
import { addOperatorCommands } from './operator/index.ts';
import { command, runCommand } from './run-command.ts';
import { exportTo, importFrom } from './transfer.ts';

/** `muster …`: parses the arguments and calls the commands. */

// `muster token list | head -1`: the reader has seen enough.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});

const program = new Command('muster')
  .description('A self-hosted command plane for fleets that are not always online')
  .version(VERSION)
  .addHelpText('after', '\nSettings come from the environment; see docs/operations.md.');

program
  .command('serve')
  .description('Start the server')
  // loaded only here: the other commands need no HTTP server and start in half the time without one
  .action(async () => (await import('./serve.ts')).serve());

program
  .command('demo')
  .description('Start a server with a simulated fleet, to try the console; leaves nothing behind')
  .option('--port <port>', 'the port of the server (default: 4000)')
  .option('--seed <text>', 'the random seed: the same seed repeats the same run')
  .option('--devices <n>', 'how many devices (default: 1000)')
  .option('--hosts <n>', 'how many hosts (default: 50)')
  .option('--pcs <n>', 'how many PCs (default: 10)')
  .option('--bots <n>', 'how many bots (default: 20)')
  .option('--phones <n>', 'how many phones (default: 6)')
  .option('--past-hours <n>', 'how many hours of history to simulate (default: 6.5)')
  .option('--database-url <address>', 'a PostgreSQL server to use; its own schema is dropped at the end')
  .option('--data-dir <folder>', 'an empty folder for the embedded database, kept at the end')
  .action(async (flags: DemoFlags) => (await import('./demo.ts')).demo(flags));

program
  .command('phone <address>')
  .description('Simulate a phone that enrols with the profile at this URL and obeys commands (docs/mdm.md)')
  .action(command(async (address: string) => (await import('./phone.ts')).phone(address)));

addAgentCommands(program, command);

const migrate = program.command('migrate').description('Migrate the database');
migrate
  .command('up')
  .description('Apply all migrations')
  .action(command(() => runCommand('migrate up', {})));
migrate
  .command('down')
  .description('Revert the newest migration and delete the data in its tables')
  .option('--all', 'revert every migration and delete everything')
  .action(command((options: { all?: boolean }) => runCommand('migrate down', options)));
migrate
  .command('list')
  .description('List migrations and when they were applied')
  .action(command(() => runCommand('migrate list', {})));
migrate
  .command('validate')
  .description('Compare the schema with that of this version; exits with 1 on a difference')
  .action(command(() => runCommand('migrate validate', {})));

const token = program.command('token').description('Manage tokens; secrets are shown once');
const TENANT = ['--tenant <name>', 'the tenant of the token (default: "default")'] as const;
token
  .command('create')
  .description('Create a token')
  .requiredOption('--name <name>', 'its name, shown as the creator of actions and in the audit log')
  .option('--kind <kind>', KINDS_BY_HAND.join(', '), 'operator')
  .option('--role <role>', `for operators: ${ROLES.join(', ')} (default: operator)`)
  .option('--lane <lane...>', 'for workers: the only lanes it may use')
  .option(...TENANT)
  .action(
    command((options: { lane?: string[]; kind: string; name: string; role?: string; tenant?: string }) => {
      const { lane: lanes, ...rest } = options;
      return runCommand('token create', { ...rest, ...(lanes ? { lanes } : {}) });
    }),
  );
token
  .command('list')
  .description('List the tokens created by hand, without secrets')
  .option('--kind <kind>', `only of this kind, also issued by the server: ${KINDS.join(', ')}`)
  .option(...TENANT)
  .action(command((options: object) => runCommand('token list', options)));
token
  .command('revoke <id>')
  .description('Revoke a token on all nodes at once')
  .option(...TENANT)
  .action(command((id: string, options: object) => runCommand('token revoke', { ...options, id })));
token
  .command('rotate <id>')
  .description('Create a new secret; the old one stays valid until the new one is used')
  .option(...TENANT)
  .action(command((id: string, options: object) => runCommand('token rotate', { ...options, id })));

const tenant = program.command('tenant').description('Manage tenants');
tenant
  .command('create <name>')
  .description('Add a tenant')
  .action(command((name: string) => runCommand('tenant create', { name })));
tenant
  .command('list')
  .description('List tenants')
  .action(command(() => runCommand('tenant list', {})));

program
  .command('doctor')
  .description('Check Node, settings, data folder, database, clock and port')
  .action(command(doctor));
program
  .command('check')
  .description('Check the history of every action against docs/guarantees.md; read-only')
  .action(command(() => runCommand('check', {})));
program
  .command('restored')
  .description('Mark the database as restored from a backup, so that readers of the event feed start over')
  .action(command(() => runCommand('restored', {})));
program
  .command('export <file>')
  .description('Export everything to a file, to move it to another database')
  .action(command(exportTo));
program
  .command('import <file>')
  .description('Import an exported file into an empty database')
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
