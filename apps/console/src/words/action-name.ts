/** The name of an action: its kind, unless its door has a better name. "InstallProfile", not "mdm.raw". */
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
/** Isolates a name, so that right-to-left text in it does not turn its surroundings. */
const apart = (name: string) => (TURNING.test(name) ? `\u2068${name}\u2069` : name);
