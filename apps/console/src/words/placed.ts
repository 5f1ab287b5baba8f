/** Cells: an item keeps its cell until it is gone, a new one takes the lowest free cell. */
export function placed(
  before: readonly (string | null)[],
  there: readonly string[],
  slots: number,
): (string | null)[] {
  const still = new Set(there);
  const cells = before.map((id) => (id !== null && still.has(id) ? id : null));
  while (cells.length < slots) cells.push(null);
  const known = new Set(cells);
  for (const id of there) {
    if (known.has(id)) continue;
    const free = cells.indexOf(null);
    if (free < 0) cells.push(id);
    else cells[free] = id;
  }
  // fewer slots than before: remove empty cells at the end
  while (cells.length > slots && cells.at(-1) === null) cells.pop();
  return cells;
}
