/** What an action is called: by its kind, unless its door has a better name. "InstallProfile" and not "mdm.raw". */
export function nameOf({
  kind,
  name,
}: {
  readonly kind: string;
  readonly name?: string | undefined;
}): string {
  return name ?? kind;
}
