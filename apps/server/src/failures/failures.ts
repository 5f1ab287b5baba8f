import type { FailureGroup } from '@muster/contracts';
import type { ActionView } from '@muster/engine';
import type { Naming } from '../naming/naming.ts';

/**
 * Groups failures, so two thousand dead letters are shown as three errors: by kind and by the error that was reported,
 * without the parts that differ between them.
 */
const LONGEST = 300;

export function normalised(error: string): string {
  return error
    .slice(0, 4 * LONGEST)
    .replaceAll(/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, '…')
    .replaceAll(/\b\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:?\d\d)?/g, '…')
    .replaceAll(/"[^"]*"|'[^']*'/g, '"…"')
    .replaceAll(/\b(0x)?(?=[0-9a-f]*\d)[0-9a-f]{8,}\b/gi, '…')
    .replaceAll(/\d+([.,:]\d+)*/g, '…')
    .replaceAll(/\s+/g, ' ')
    .trim()
    .slice(0, LONGEST);
}

export function groupFailures(failed: readonly ActionView[], naming: Naming): FailureGroup[] {
  const groups = new Map<string, ActionView[]>();
  for (const action of failed) {
    const word = [action.kind, naming.nameOf(action) ?? '', causeOf(action)].join('\u0000');
    const same = groups.get(word);
    if (same) same.push(action);
    else groups.set(word, [action]);
  }
  return [...groups.values()]
    .map((actions) => {
      const [newest] = actions as [ActionView];
      const times = actions.map(({ endedAt }) => (endedAt as Date).getTime());
      return {
        kind: newest.kind,
        name: naming.nameOf(newest),
        error: causeOf(newest),
        count: actions.length,
        firstEndedAt: new Date(Math.min(...times)).toISOString(),
        lastEndedAt: new Date(Math.max(...times)).toISOString(),
        example: {
          id: newest.id,
          lane: newest.laneName,
          space: newest.space,
          error: newest.error,
          reason: newest.reason ?? '',
        },
        ids: actions.map(({ id }) => id),
      };
    })
    .toSorted((a, b) => b.count - a.count);
}

/** The reported error, or our own word for how it ended. */
const causeOf = ({ error, reason }: ActionView) => (error ? normalised(error) : (reason ?? ''));
