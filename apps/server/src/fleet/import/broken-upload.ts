/** The upload cannot be read on from here. */
export class BrokenUpload extends Error {
  readonly line: number;
  constructor(line: number, message: string) {
    super(message);
    this.line = line;
  }
}
