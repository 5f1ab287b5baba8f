/** Which of the due pushes go out now. */
export interface DuePush {
  readonly tenantId: string;
  /** Since when it is due, in milliseconds. */
  readonly dueAt: number;
  /** How many were sent before without the device coming; 0 for one that may be awake. */
  readonly pushes: number;
}

/**
 * First pushes go first, so sleeping devices never hold up awake ones; a quarter of the room is for the others, so they
 * are not forgotten. Within each part tenants take turns, the longest due first.
 */
export function choosePushes<Due extends DuePush>(due: readonly Due[], room: number): Due[] {
  const first = inTurns(due.filter(({ pushes }) => pushes === 0));
  const repeated = inTurns(due.filter(({ pushes }) => pushes > 0));
  const kept = Math.min(repeated.length, Math.max(Math.ceil(room / 4), room - first.length));
  return [...first.slice(0, Math.max(0, room - kept)), ...repeated.slice(0, Math.min(kept, room))];
}

function inTurns<Due extends DuePush>(due: readonly Due[]): Due[] {
  const lines = new Map<string, Due[]>();
  for (const one of [...due].sort((a, b) => a.dueAt - b.dueAt)) {
    const line = lines.get(one.tenantId);
    if (line) line.push(one);
    else lines.set(one.tenantId, [one]);
  }
  const turns: Due[] = [];
  for (let turn = 0; turns.length < due.length; turn += 1)
    for (const line of lines.values()) {
      const one = line[turn];
      if (one !== undefined) turns.push(one);
    }
  return turns;
}
