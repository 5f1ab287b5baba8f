/** The upload cannot be read beyond this point. */
export class BrokenUpload extends Error {
  readonly line: number;
  constructor(line: number, message: string) {
    super(message);
    this.line = line;
  }
}
