/** Ids are opaque: what cannot be one of ours is unknown without asking the database. */
export function isId(text: string): boolean {
  return /^[1-9]\d{0,17}$/.test(text);
}
