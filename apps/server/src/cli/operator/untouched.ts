import { MusterError } from '@muster/client';
import type { RedrivenMatching } from '@muster/contracts';
import type { Session } from './session.ts';

const MOST_NAMED = 20;

/**
 * Those of the named ones that nothing was done to: a script that names them wants to know. The answer only counts them, so
 * the first twenty ids are looked at; `states` are those that an action is not in after it was done.
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
    else if (states.includes(state)) lines.push(`${id}: its state is ${state}.`);
  }
  const left = count - lines.length;
  return (one, several) => [
    ...lines,
    ...(left > 0 ? [`${leftOf(left, lines.length, ids)} ${left === 1 ? one : several}.`] : []),
  ];
}

/** The only id is called by itself. */
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

/** Advice in the words of the command line, not of the wire. */
export const refusalLines = (refusals: RedrivenMatching['refusals']): string[] =>
  refusals.map(({ id, code, device, error }) =>
    device
      ? `${id}: ${device.name} (device ${device.id}) is in error. Redrive with --clear-error to clear it. (${code})`
      : `${id}: ${error} (${code})`,
  );
