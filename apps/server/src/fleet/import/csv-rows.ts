import { BrokenUpload } from './broken-upload.ts';

/**
 * Rows of CSV as in RFC 4180, chunk by chunk: quoted fields may contain commas, quotes (doubled) and line breaks. A row
 * is identified by the line on which it begins.
 */
export interface CsvRow {
  readonly line: number;
  readonly fields: string[];
}

export class CsvRows {
  readonly #longest: number;
  #fields: string[] = [];
  #field = '';
  #state: 'plain' | 'quoted' | 'quote in quoted' = 'plain';
  #line = 1;
  #begin = 1;
  #length = 0;
  #begun = false;

  constructor(longest: number) {
    this.#longest = longest;
  }

  *read(text: string): Generator<CsvRow> {
    for (const character of text) {
      const row = this.#take(character);
      if (row) yield row;
      if (this.#length > this.#longest)
        throw new BrokenUpload(this.#begin, `The row is longer than ${this.#longest} characters.`);
    }
  }

  /** The last row need not end with a line break. */
  *end(): Generator<CsvRow> {
    if (this.#state === 'quoted') throw new BrokenUpload(this.#begin, 'The row has an unclosed quote.');
    if (this.#begun) yield this.#row();
  }

  #take(character: string): CsvRow | undefined {
    this.#length += 1;
    this.#begun = true;
    if (character === '\n') this.#line += 1;
    if (this.#state === 'quoted') {
      if (character === '"') this.#state = 'quote in quoted';
      else this.#field += character;
      return undefined;
    }
    if (character === '"') {
      if (this.#state === 'quote in quoted') this.#field += '"';
      this.#state = 'quoted';
      return undefined;
    }
    this.#state = 'plain';
    if (character === ',') {
      this.#fields.push(this.#field);
      this.#field = '';
      return undefined;
    }
    if (character === '\n') return this.#row();
    if (character !== '\r') this.#field += character;
    return undefined;
  }

  #row(): CsvRow {
    const row = { line: this.#begin, fields: [...this.#fields, this.#field] };
    this.#fields = [];
    this.#field = '';
    this.#state = 'plain';
    this.#begin = this.#line;
    this.#length = 0;
    this.#begun = false;
    return row;
  }
}
