/** A device of a PC that tasks may have: there, in order, not reported absent by its runner. Busy ones count. */
export const eligible = (d: string) => `(${d}.deleted_at is null and ${d}.state = 'ok' and not ${d}.absent)`;
