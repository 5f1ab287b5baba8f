// marks that change the writing direction: one in a name would reorder the cells beside it
const TURNING = /[\u202a-\u202e\u2066-\u2069]/g;

/** Rows as aligned text with a header; empty cells are dashes. */
export function table(head: readonly string[], rows: readonly (readonly (string | null)[])[]): string[] {
  const lines = [head, ...rows].map((row) => row.map((cell) => (cell ?? '-').replace(TURNING, '')));
  const widths = head.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  return lines.map((line) =>
    line
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
