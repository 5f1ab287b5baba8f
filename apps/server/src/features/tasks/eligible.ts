/** A device of a PC that tasks may use: present, without error, not reported absent by its runner. Busy ones count. */
export const eligible = (d: string) =>
  `(${d}.deleted_at is null and ${d}.state = 'ok' and ${d}.absent_since is null)`;

/** The same, or reported absent only after that time: the devices of a hub that resets come back. */
export const hopedFor = (d: string, since: string) =>
  `(${d}.deleted_at is null and ${d}.state = 'ok' and coalesce(${d}.absent_since > ${since}, true))`;
