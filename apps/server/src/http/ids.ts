/** Ids are opaque: whatever is not one of ours is simply unknown, and is not asked of the database. */
export function isId(text: string): boolean {
  return /^[1-9]\d{0,17}$/.test(text);
}
