/** A code is stable; its sentence, for people, may be improved. Each door has its own catalogue. */
export interface ErrorEntry {
  readonly status: number;
  /** What happened and what to do about it, for docs/errors.md. */
  readonly meaning: string;
}
/** Codes begin with MUSTER_, except those of GraphQL, which existing clients define. */
export type ErrorCatalogue = Readonly<Record<Uppercase<string>, ErrorEntry>>;
