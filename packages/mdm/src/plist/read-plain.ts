/**
 * Reads a property list that `checkXml` has accepted, if it is written plainly, as devices do: a tenth of the time that
 * the library takes for its document tree. Anything unusual (references, comments, CDATA, other line ends, odd numbers)
 * is left to the library. test/plist.unit.test.ts compares the two.
 */
import type { PlistDict, PlistValue } from './plist-value.ts';

/** References, and characters that XML reads as line ends. */
const UNUSUAL = /[&\r\u0085\u2028\u2029]|<!/;

class Unusual extends Error {}

/** From its root on. Undefined: the library must read it. */
export function readPlain(text: string, root: number): PlistValue | undefined {
  const xml = text.slice(root);
  if (UNUSUAL.test(xml)) return undefined;
  try {
    const reader = new Reader(xml);
    if (!reader.tag().startsWith('plist')) return undefined;
    const value = reader.value(reader.tag());
    return reader.tag() === '/plist' ? value : undefined;
  } catch (error) {
    if (error instanceof Unusual) return undefined;
    throw error;
  }
}

class Reader {
  readonly #xml: string;
  #at = 0;

  constructor(xml: string) {
    this.#xml = xml;
  }

  /** The next tag without its brackets. What is before it is white space. */
  tag(): string {
    const from = this.#xml.indexOf('<', this.#at) + 1;
    const to = this.#xml.indexOf('>', from);
    if (from === 0 || to === -1) throw new Unusual();
    this.#at = to + 1;
    return this.#xml.slice(from, to);
  }

  value(tag: string): PlistValue {
    switch (tag) {
      case 'dict':
        return this.#dict();
      case 'array':
        return this.#array();
      case 'string':
        return this.#text('</string>');
      case 'integer':
        return numberOf(this.#text('</integer>'), /^-?\d{1,15}$/);
      case 'real':
        return numberOf(this.#text('</real>'), /^-?\d{1,15}(?:\.\d{1,15})?$/);
      case 'data':
        return bytesOf(this.#text('</data>'));
      case 'date':
        return dateOf(this.#text('</date>'));
      case 'true/':
        return true;
      case 'false/':
        return false;
      case 'dict/':
        return {};
      case 'array/':
        return [];
      case 'string/':
        return '';
      default:
        throw new Unusual();
    }
  }

  #dict(): PlistDict {
    const dict: PlistDict = {};
    for (let tag = this.tag(); tag !== '/dict'; tag = this.tag()) {
      if (tag !== 'key') throw new Unusual();
      const key = this.#text('</key>');
      if (key === '__proto__') throw new Unusual();
      dict[key] = this.value(this.tag());
    }
    return dict;
  }

  #array(): PlistValue[] {
    const array: PlistValue[] = [];
    for (let tag = this.tag(); tag !== '/array'; tag = this.tag()) array.push(this.value(tag));
    return array;
  }

  #text(end: string): string {
    const from = this.#at;
    const to = this.#xml.indexOf('<', from);
    if (!this.#xml.startsWith(end, to)) throw new Unusual();
    this.#at = to + end.length;
    return this.#xml.slice(from, to);
  }
}

function numberOf(text: string, form: RegExp): number {
  if (!form.test(text)) throw new Unusual();
  return Number(text);
}

function bytesOf(text: string): Uint8Array {
  const base64 = text.replace(/\s+/g, '');
  if (base64.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(base64)) throw new Unusual();
  return Uint8Array.from(Buffer.from(base64, 'base64'));
}

function dateOf(text: string): Date {
  if (text === '') throw new Unusual();
  return new Date(text);
}
