/** A code stays; its sentence, for people, may become better. Each door has a catalogue of its own. */
export interface ErrorEntry {
  readonly status: number;
  /** What happened and what to do about it, for docs/errors.md. */
  readonly meaning: string;
}
export type ErrorCatalogue = Readonly<Record<`MUSTER_${string}`, ErrorEntry>>;
