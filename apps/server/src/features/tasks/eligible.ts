/** A device of a PC that tasks may have: there, in order, not reported absent by its runner. Busy ones count. */
export const eligible = (d: string) =>
  `(${d}.deleted_at is null and ${d}.state = 'ok' and ${d}.absent_since is null)`;

/** The same, or its runner has said only after that time that it is not there: a hub that resets gives its devices back. */
export const hopedFor = (d: string, since: string) =>
  `(${d}.deleted_at is null and ${d}.state = 'ok' and coalesce(${d}.absent_since > ${since}, true))`;
