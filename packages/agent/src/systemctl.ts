import type { AllowList } from './allow-list.ts';
import type { Executor, Outcome } from './executor.ts';
import { runProgram } from './run-program.ts';

/** Runs `systemctl <kind> -- <unit>`: without a shell, for units that the host itself allows. */
const KINDS = ['start', 'stop', 'restart'];
/** The form that the server requires; a compromised server may send anything. */
const UNIT = /^(?:[A-Za-z0-9_]|\\x[0-9a-f]{2})(?:[A-Za-z0-9:_.@-]|\\x[0-9a-f]{2}){0,250}$/;

export function systemctl(options: {
  readonly allowed: AllowList;
  readonly timeoutMs: number;
  /** For the command, beside the marks of its attempt. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}): Executor {
  return async (action, { begins, marks, signal }) => {
    const unit = action.service.unitName;
    if (!KINDS.includes(action.kind))
      return failed(`UNKNOWN_KIND: this agent cannot ${action.kind} a service.`);
    if (!UNIT.test(unit)) return failed('BAD_UNIT: this is not a unit name.');
    if (!(await options.allowed.allows(unit)))
      // Only an administrator of the host can change that, so the caller is told at once.
      return {
        ...failed(`NOT_ALLOWED: the unit ${unit} is not on the allow list of this host.`),
        final: true,
      };
    return runProgram('systemctl', [action.kind, '--', unit], {
      timeoutMs: options.timeoutMs,
      signal,
      begins,
      environment: { ...options.environment, ...marks },
    });
  };
}

function failed(message: string): Outcome {
  return { status: 'failed', message };
}
