import { MusterError } from '@muster/client';
import type { RedrivenMatching } from '@muster/contracts';
import type { Session } from './session.ts';
import { called, stateWord } from './words.ts';

const MOST_NAMED = 20;

/**
 * The named actions that were not changed, for scripts that name them. The answer only counts them, so the first twenty
 * ids are looked up; `states` are those that an action cannot be in after the change.
 */
export async function untouched(
  session: Session,
  ids: readonly string[],
  count: number,
  states: readonly string[],
): Promise<(one: string, several: string) => string[]> {
  if (ids.length === 0 || count <= 0) return () => [];
  const lines: string[] = [];
  for (const id of [...new Set(ids)]) {
    if (lines.length === Math.min(count, MOST_NAMED)) break;
    const state = await stateOf(session, id);
    if (state === null) lines.push(`${id}: there is no action with this id.`);
    else if (states.includes(state)) lines.push(`${id}: its state is ${stateWord(state)}.`);
  }
  const left = count - lines.length;
  return (one, several) => [
    ...lines,
    ...(left > 0 ? [`${leftOf(left, lines.length, ids)} ${left === 1 ? one : several}.`] : []),
  ];
}

/** A single id is called by its id. */
const leftOf = (left: number, named: number, ids: readonly string[]) =>
  ids.length === 1 ? `Action ${ids[0]}` : `${left} of the ${named > 0 ? 'other ' : ''}ids`;

async function stateOf(session: Session, id: string): Promise<string | null> {
  try {
    return (await session.client.actions.get({ params: { id } })).body.state;
  } catch (error) {
    if (error instanceof MusterError && error.status === 404) return null;
    throw error;
  }
}

/** Advice in terms of command-line options, not of the wire. */
export const refusalLines = (refusals: RedrivenMatching['refusals']): string[] =>
  refusals.map(({ id, code, device, error }) =>
    device
      ? `${id}: ${called(device.name, 'device', device.id)} is in error. Redrive with --clear-error to clear it. (${code})`
      : `${id}: ${error} (${code})`,
  );
