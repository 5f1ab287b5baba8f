/** A pause is no event of any action, but open pages and whoever follows the feed want to know of it: in its transaction. */
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
