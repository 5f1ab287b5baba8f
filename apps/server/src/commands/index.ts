import { check } from './check.ts';
import type { Command } from './command.ts';
import { exportAll } from './export.ts';
import { importAll } from './import.ts';
import { inspect } from './inspect.ts';
import { migrateDown, migrateList, migrateUp, migrateValidate } from './migrate.ts';
import { restored } from './restored.ts';
import { tenantCreate, tenantList } from './tenant.ts';
import { tokenCreate, tokenList, tokenRevoke, tokenRotate } from './token.ts';

/** Every command that works on a database, by its name on the control socket. */
export const COMMANDS = {
  check: check,
  export: exportAll,
  import: importAll,
  inspect: inspect,
  'migrate down': migrateDown,
  'migrate list': migrateList,
  'migrate up': migrateUp,
  'migrate validate': migrateValidate,
  restored: restored,
  'tenant create': tenantCreate,
  'tenant list': tenantList,
  'token create': tokenCreate,
  'token list': tokenList,
  'token revoke': tokenRevoke,
  'token rotate': tokenRotate,
} as const;

export type CommandName = keyof typeof COMMANDS;

export function isCommandName(text: unknown): text is CommandName {
  return typeof text === 'string' && Object.hasOwn(COMMANDS, text);
}

export function commandOf(name: CommandName): Command<unknown> {
  // The command line made the arguments for this very command.
  return COMMANDS[name] as Command<unknown>;
}
