/** What the clients share: the lanes, and some actions that were acknowledged to one of them. */
const MOST = 400;

export interface Board {
  readonly lanes: readonly string[];
  /** A number for one payload. */
  nextMark(): number;
  add(id: string, lane: string): void;
  some(at: number): { id: string; lane: string } | undefined;
  readonly size: number;
}

export function createBoard(lanes: readonly string[]): Board {
  const known: { id: string; lane: string }[] = [];
  let mark = 0;
  return {
    lanes,
    nextMark: () => {
      mark += 1;
      return mark;
    },
    add(id, lane) {
      known.push({ id, lane });
      if (known.length > MOST) known.shift();
    },
    some: (at) => known[at],
    get size() {
      return known.length;
    },
  };
}
