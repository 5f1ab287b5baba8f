/**
 * Checks the XML of a property list before the parser does. The parser's own XML library repairs XML that is not
 * well-formed, prints about it, and follows nesting until the stack overflows; XML that passes here causes none of
 * that.
 */
import { MdmError } from '../mdm-error.ts';
import { forbiddenIn } from './xml-characters.ts';

export interface XmlLimits {
  /** The nesting of dictionaries and arrays. */
  readonly maxDepth: number;
  /** A tag of seven bytes becomes an object of some hundred, so a limit of bytes alone does not bound the memory. */
  readonly maxElements: number;
}

const CONTAINERS = new Set(['plist', 'dict', 'array']);
const LEAVES = new Set(['key', 'string', 'integer', 'real', 'data', 'date', 'true', 'false']);
const DECLARATION = /<\?xml version="1\.[01]"(?: encoding="utf-8")?(?: standalone="(?:yes|no)")?\s*\?>/iy;
// a document type may only have a quoted identifier: brackets would declare entities
const DOCTYPE = /<!DOCTYPE\s+plist(?:\s+(?:PUBLIC\s+"[^"<>[\]]*"|SYSTEM)\s+"[^"<>[\]]*")?\s*>/y;
const TAG = /<(\/?)([a-z]+)((?:\s+version="[\d.]{1,8}")?)\s*(\/?)>/y;
const REFERENCE = /&(?:(amp|lt|gt|quot|apos)|#(\d{1,7})|#x([0-9a-fA-F]{1,6}));/y;

const malformed = (at: number, what: string) =>
  new MdmError('PLIST_MALFORMED', `The property list is not well-formed at character ${at}: ${what}.`);

/** A number that JavaScript cannot hold: the place of its element, and its text. */
export interface LargeNumber {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

/** Returns where the root begins (nothing before it need be read again) and the numbers that would lose digits. */
export function checkXml(
  text: string,
  { maxDepth, maxElements }: XmlLimits,
): { root: number; large: LargeNumber[] } {
  const forbidden = forbiddenIn(text);
  if (forbidden !== -1) throw malformed(forbidden, 'a character that XML does not allow');
  const open: string[] = [];
  const large: LargeNumber[] = [];
  let leaf = { from: 0, inner: 0 };
  let elements = 0;
  let root = 0;
  let rootClosed = false;
  let doctypeSeen = false;
  let at = skipDeclaration(text);
  while (at < text.length) {
    const next = text.indexOf('<', at);
    const end = next === -1 ? text.length : next;
    checkText(text.slice(at, end), at, open.at(-1));
    if (next === -1) break;
    at = next;
    if (text.startsWith('<!--', at)) {
      at = afterComment(text, at);
    } else if (text.startsWith('<![CDATA[', at)) {
      if (!LEAVES.has(open.at(-1) ?? '')) throw malformed(at, 'text outside a value');
      at = after(text, ']]>', at);
    } else if (text.startsWith('<!DOCTYPE', at)) {
      if (doctypeSeen || elements > 0) throw malformed(at, 'a document type in the wrong place');
      doctypeSeen = true;
      at = afterDoctype(text, at);
    } else {
      TAG.lastIndex = at;
      const [tag, closing, name = '', attribute, selfClosing] = TAG.exec(text) ?? [];
      if (tag === undefined || (attribute !== '' && name !== 'plist'))
        throw malformed(at, 'not a tag of a property list');
      if (closing) {
        if (open.pop() !== name || selfClosing || attribute) throw malformed(at, `</${name}> closes nothing`);
        rootClosed ||= open.length === 0;
        const inner = text.slice(leaf.inner, at).trim();
        if ((name === 'integer' || name === 'real') && isLarge(inner))
          large.push({ from: leaf.from, to: at + tag.length, text: inner });
      } else {
        checkPlace(name, open.at(-1), rootClosed, at);
        if (elements === 0) root = at;
        elements += 1;
        if (elements > maxElements)
          throw new MdmError('PLIST_TOO_LARGE', 'The property list has too many values.');
        // open elements are containers, and the plist tag does not count
        if (CONTAINERS.has(name) && open.length > maxDepth)
          throw new MdmError('PLIST_TOO_DEEP', `The property list is nested deeper than ${maxDepth}.`);
        leaf = { from: at, inner: at + tag.length };
        if (!selfClosing) open.push(name);
        else rootClosed ||= open.length === 0;
      }
      at += tag.length;
    }
  }
  if (!rootClosed || open.length > 0) throw malformed(text.length, 'it ends too early');
  return { root, large };
}

/** Anything else that is not a number is left to the parser. */
const isLarge = (text: string) =>
  /^[+-]?(?:\d[\d.]*(?:e[+-]?\d+)?|inf|infinity)$/i.test(text) &&
  !(Math.abs(Number(text)) <= Number.MAX_SAFE_INTEGER);

function skipDeclaration(text: string): number {
  if (!text.startsWith('<?')) return 0;
  DECLARATION.lastIndex = 0;
  const [declaration] = DECLARATION.exec(text) ?? [];
  if (declaration === undefined) throw malformed(0, 'an unknown XML declaration');
  return declaration.length;
}

function checkPlace(name: string, parent: string | undefined, rootClosed: boolean, at: number): void {
  if (!CONTAINERS.has(name) && !LEAVES.has(name))
    throw malformed(at, `<${name}> is not a tag of a property list`);
  if ((name === 'plist') !== (parent === undefined) || rootClosed)
    throw malformed(at, `<${name}> is out of place`);
  if (parent !== undefined && !CONTAINERS.has(parent)) throw malformed(at, `<${name}> inside a value`);
}

function checkText(text: string, at: number, parent: string | undefined): void {
  if (!CONTAINERS.has(parent ?? 'plist')) {
    for (let ampersand = text.indexOf('&'); ampersand !== -1; ampersand = text.indexOf('&', ampersand + 1)) {
      REFERENCE.lastIndex = ampersand;
      const [found, , decimal, hex] = REFERENCE.exec(text) ?? [];
      if (found === undefined)
        throw new MdmError('PLIST_ENTITIES', 'The property list uses an entity that is not part of XML.');
      const code = decimal ? Number.parseInt(decimal, 10) : hex ? Number.parseInt(hex, 16) : 0x20;
      if (
        code > 0x10ffff ||
        (code >= 0xd800 && code < 0xe000) ||
        forbiddenIn(String.fromCodePoint(code)) !== -1
      )
        throw malformed(at + ampersand, 'a character that XML does not allow');
    }
  } else if (/\S/.test(text)) throw malformed(at, 'text outside a value');
}

function after(text: string, end: string, from: number): number {
  const found = text.indexOf(end, from);
  if (found === -1) throw malformed(from, `no ${end} follows`);
  return found + end.length;
}

function afterComment(text: string, at: number): number {
  const end = after(text, '-->', at + 4);
  if (text.slice(at + 4, end - 3).includes('--') || text[end - 4] === '-')
    throw malformed(at, 'a comment with -- in it');
  return end;
}

function afterDoctype(text: string, at: number): number {
  DOCTYPE.lastIndex = at;
  const [doctype] = DOCTYPE.exec(text) ?? [];
  if (doctype === undefined)
    throw new MdmError('PLIST_ENTITIES', 'The property list has its own document type.');
  return at + doctype.length;
}
