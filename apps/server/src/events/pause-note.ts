/**
 * A pause is not an event of an action, but open pages and followers of the feed need to know: written in its
 * transaction.
 */
export const PAUSED = 'pause.changed';

export function pauseNote(
  tenantId: number,
  isPaused: boolean,
  of: { readonly tag?: string | undefined; readonly laneId?: string } = {},
) {
  const { laneId, tag = null } = of;
  return {
    tenantId,
    name: PAUSED,
    data: { paused: isPaused, tag },
    ...(laneId === undefined ? {} : { laneId }),
  };
}
