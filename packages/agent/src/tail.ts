/** The last bytes of a stream, however long it is. */
export class Tail {
  readonly #most: number;
  #chunks: Buffer[] = [];
  #length = 0;
  #wasCut = false;

  constructor(most: number) {
    this.#most = most;
  }

  /** Whether there was more. */
  get wasCut(): boolean {
    return this.#wasCut || this.#length > this.#most;
  }

  add(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    while (this.#chunks[0] && this.#length - this.#chunks[0].length >= this.#most) {
      this.#length -= (this.#chunks.shift() as Buffer).length;
      this.#wasCut = true;
    }
  }

  text(): string {
    return lastBytes(Buffer.concat(this.#chunks), this.#most);
  }
}

/** NUL cannot be stored; bytes that are not text get longer when they are shown; a cut may have split a character. */
export function lastBytes(bytes: Buffer, most: number): string {
  const text = bytes.subarray(-most).toString('utf8').replaceAll('\u0000', '?');
  return Buffer.from(text)
    .subarray(-most)
    .toString('utf8')
    .replace(/^\ufffd{1,3}/, '');
}
