/** A code stays; its sentence, for people, may become better. Each door has a catalogue of its own. */
export interface ErrorEntry {
  readonly status: number;
  /** What happened and what to do about it, for docs/errors.md. */
  readonly meaning: string;
}
/** Codes begin with MUSTER_, but for those of GraphQL, which are the words of its seed. */
export type ErrorCatalogue = Readonly<Record<Uppercase<string>, ErrorEntry>>;
