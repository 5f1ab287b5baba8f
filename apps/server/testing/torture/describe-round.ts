import type { RoundResult } from './round.ts';

/** The summary of a round, as lines for people. */
const MOST_SHOWN = 20;

export function describeRound(result: RoundResult): string[] {
  const disturbances = [...result.disturbances].map(([name, times]) => `${name} ${times}`);
  const total = [...result.disturbances.values()].reduce((sum, times) => sum + times, 0);
  const lines = [
    `disturbances ${total} (${disturbances.join(', ')})`,
    `kills        ${result.kills} of servers, ${result.crashes} of the database or its sessions`,
    `calls        ${result.calls}, of which ${result.unknown} with an unknown outcome`,
    `actions      ${result.actions}, with ${result.events} events`,
    `violations   ${result.findings.length}`,
  ];
  for (const { promise, text, history = [] } of result.findings.slice(0, MOST_SHOWN))
    lines.push(`  ${promise}: ${text}`, ...history.map((line) => `      ${line}`));
  if (result.findings.length > MOST_SHOWN) lines.push(`  … and ${result.findings.length - MOST_SHOWN} more`);
  return lines;
}
