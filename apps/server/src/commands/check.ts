import { checkInstallation, type FoundViolation } from '@muster/engine';
import type { Command } from './command.ts';

/**
 * `muster check`: does the history of every action keep the guarantees, and do the tables agree with it? Reads in
 * pages, each in a short read-only transaction, and changes nothing.
 */
const MOST_SHOWN = 100;
const PAGES_BETWEEN_NOTES = 200;

export const check: Command<Record<string, never>> = {
  besideServer: true,
  needsSchema: true,
  async run({ config, db }, _args, out) {
    let shown = 0;
    let pages = 0;
    const sum = await checkInstallation(db, {
      schema: config.MUSTER_SCHEMA,
      onViolation(found) {
        shown += 1;
        if (shown <= MOST_SHOWN) for (const line of linesOf(found)) out.say(line);
      },
      onPage(so) {
        pages += 1;
        if (pages % PAGES_BETWEEN_NOTES === 0) out.note(`${so.lanes} lanes, ${so.actions} actions so far …`);
      },
    });
    if (sum.violations > MOST_SHOWN) out.say(`… and ${sum.violations - MOST_SHOWN} more violations.`);
    out.say(
      `${sum.lanes} lanes, ${sum.actions} actions, ${sum.events} events, ${sum.violations} violations.`,
    );
    return sum.violations === 0 ? 0 : 1;
  },
};

function linesOf(found: FoundViolation): string[] {
  return [
    `${found.promise} is broken (tenant ${found.tenantId}): ${found.text}`,
    ...found.history.map(
      ({ id, at, type, attempt, reason }) =>
        `    ${id} ${at.toISOString()} ${type} attempt ${attempt}${reason === null ? '' : ` (${reason})`}`,
    ),
  ];
}
