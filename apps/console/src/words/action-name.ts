/** What an action is called: by its kind, unless its door has a better name. "InstallProfile" and not "mdm.raw". */
export function nameOf({
  kind,
  name,
}: {
  readonly kind: string;
  readonly name?: string | undefined;
}): string {
  return apart(name ?? kind);
}

const TURNING = /[\u202a-\u202e\u2066-\u2069]/;
/** A name that turns the direction of the line is kept apart from what stands beside it. */
const apart = (name: string) => (TURNING.test(name) ? `\u2068${name}\u2069` : name);
