import fc from 'fast-check';
import { build, parse } from 'plist';
import { expect, test, vi } from 'vitest';
import { buildPlist } from '../src/plist/build-plist.ts';
import { checkXml } from '../src/plist/check-xml.ts';
import { PLIST_LIMITS, type PlistValue, parsePlist } from '../src/plist/parse-plist.ts';
import { plistFromJson, plistToJson } from '../src/plist/plist-json.ts';
import { readPlain } from '../src/plist/read-plain.ts';
import { forbiddenIn } from '../src/plist/xml-characters.ts';

const DOCTYPE =
  '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">';
const plist = (inner: string, doctype = DOCTYPE) =>
  Buffer.from(
    `<?xml version="1.0" encoding="UTF-8"?>\n${doctype}\n<plist version="1.0">\n${inner}\n</plist>\n`,
  );
const dict = (inner: string) => plist(`<dict><key>a</key>${inner}</dict>`);

test('a property list is read with all its kinds of values', () => {
  const read = parsePlist(
    plist(`<dict>
      <!-- as a Mac writes it -->
      <key>text</key><string>5 &lt; 6 &amp; &#x1F600;<![CDATA[ <raw> ]]></string>
      <key>empty</key><string/>
      <key>number</key><integer>-7</integer>
      <key>real</key><real>1.5</real>
      <key>data</key><data>
        AQID
      </data>
      <key>date</key><date>2026-05-01T10:00:00Z</date>
      <key>yes</key><true/>
      <key>list</key><array><dict/><false/></array>
    </dict>`),
  );
  expect(read).toEqual({
    text: '5 < 6 & 😀 <raw> ',
    empty: '',
    number: -7,
    real: 1.5,
    data: new Uint8Array([1, 2, 3]),
    date: new Date('2026-05-01T10:00:00Z'),
    yes: true,
    list: [{}, false],
  });
});

test('a built list is read back unchanged', () => {
  const value = {
    s: 'a & <b> ü 😀',
    n: 3,
    d: Uint8Array.of(0, 255),
    on: false,
    list: [{ x: 'y' }],
    at: new Date(0),
  };
  expect(parsePlist(buildPlist(value))).toEqual(value);
  expect(() => buildPlist({ s: 'a\u0000' })).toThrow(expect.objectContaining({ code: 'COMMAND_INVALID' }));
  expect(() => buildPlist({ list: ['\ud800'] })).toThrow(
    expect.objectContaining({ code: 'COMMAND_INVALID' }),
  );
});

const text = fc.oneof(
  fc.string({ unit: 'binary' }).filter((one) => forbiddenIn(one) === -1 && one.isWellFormed()),
  fc.string({ unit: fc.constantFrom('&', '<', '>', '"', "'", '\r', '\n', '\t', ' ', 'a', ']]>', '\u2028') }),
);
const key = fc
  .oneof(text, fc.constantFrom('', 'constructor', '2', '10'))
  .filter((one) => one !== '__proto__');
const { value: anyValue } = fc.letrec<{ value: PlistValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    ...[text, fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }), fc.boolean()],
    fc.uint8Array(),
    fc.date({ noInvalidDate: true, min: new Date(0), max: new Date('2200-01-01') }),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(key, tie('value'), { maxKeys: 4, noNullPrototype: true }),
  ),
}));
const anyDict = fc.dictionary(key, anyValue, { maxKeys: 5, noNullPrototype: true });

test('any list is written as the library writes it', () => {
  fc.assert(
    fc.property(anyDict, (dict) => {
      expect(buildPlist(dict).toString()).toBe(build(dict));
    }),
  );
});

test('what is read without the library is what the library reads, however it is written', () => {
  let read = 0;
  const places = fc.array(
    fc.tuple(
      fc.double({ min: 0, max: 0.999, noNaN: true }),
      fc.constantFrom(
        ' ',
        '\n',
        '\r\n',
        '<!-- x -->',
        '<![CDATA[y]]>',
        '&#65;',
        '<true/>',
        '7',
        '<key>a</key>',
        '\u2028',
      ),
    ),
    { maxLength: 2 },
  );
  const compare = (xml: string) => {
    let root: number;
    try {
      root = checkXml(xml, PLIST_LIMITS).root;
    } catch {
      return;
    }
    const plain = readPlain(xml, root);
    if (plain === undefined) return;
    read += 1;
    expect(plain).toEqual(parse(xml.slice(root)));
  };
  fc.assert(
    fc.property(anyDict, places, (dict, wounds) => {
      let xml = build(dict);
      compare(xml);
      for (const [at, more] of wounds) {
        // behind a tag, or anywhere
        const place = Math.floor(at * xml.length);
        const tag = xml.indexOf('>', place) + 1;
        compare(xml.slice(0, place) + more + xml.slice(place));
        xml = xml.slice(0, tag) + more + xml.slice(tag);
        compare(xml);
      }
    }),
    { numRuns: 300 },
  );
  expect(read).toBeGreaterThan(10); // of some hundred; how many is up to chance
});

test('a report as phones write it needs no library', () => {
  const report =
    '<plist version="1.0"><dict><key>UDID</key><string>ü-1</string><key>a</key><array/></dict></plist>';
  expect(readPlain(report, 0)).toEqual({ UDID: 'ü-1', a: [] });
  for (const unusual of ['<!-- x -->', '<data>A</data>', '<string>&amp;</string>', '<string>a\r\nb</string>'])
    expect(readPlain(`<plist><dict><key>a</key>${unusual}</dict></plist>`, 0)).toBeUndefined();
});

const nested = (depth: number) => dict(`${'<array>'.repeat(depth - 1)}${'</array>'.repeat(depth - 1)}`);
const entity = (declaration: string) =>
  plist('<dict><key>a</key><string>&x;</string></dict>', `<!DOCTYPE plist [${declaration}]>`);

test.each([
  ['nothing', Buffer.alloc(0), 'PLIST_NOT_XML'],
  ['a binary one', Buffer.from('bplist00\u0001'), 'PLIST_NOT_XML'],
  ['the notation of OpenStep', Buffer.from('{ a = b; }'), 'PLIST_NOT_XML'],
  ['bytes that are no UTF-8', Buffer.from([0x3c, 0xff, 0xfe]), 'PLIST_NOT_XML'],
  ['another document', Buffer.from('<html><body/></html>'), 'PLIST_MALFORMED'],
  ['an entity of its own', entity('<!ENTITY x "y">'), 'PLIST_ENTITIES'],
  ['an entity from a file', entity('<!ENTITY x SYSTEM "file:///etc/passwd">'), 'PLIST_ENTITIES'],
  ['a document type from elsewhere with a subset', entity(''), 'PLIST_ENTITIES'],
  ['an undeclared entity', dict('<string>&x;</string>'), 'PLIST_ENTITIES'],
  ['a parameter entity', plist('<dict/>', '<!DOCTYPE plist SYSTEM "x" [ %remote; ]>'), 'PLIST_ENTITIES'],
  ['33 levels', nested(33), 'PLIST_TOO_DEEP'],
  ['20,000 levels', nested(20_000), 'PLIST_TOO_DEEP'],
  ['a list as root', plist('<array/>'), 'PLIST_NOT_A_DICT'],
  ['no root', plist(''), 'PLIST_NOT_A_DICT'],
  ['two roots', plist('<dict/><dict/>'), 'PLIST_NOT_A_DICT'],
  ['a plist after the plist', Buffer.from('<plist><dict/></plist><plist><dict/></plist>'), 'PLIST_MALFORMED'],
  ['a plist inside', plist('<dict><key>a</key><plist/></dict>'), 'PLIST_MALFORMED'],
  ['__proto__', plist('<dict><key>__proto__</key><dict/></dict>'), 'PLIST_MALFORMED'],
  ['__proto__ in CDATA', plist('<dict><key><![CDATA[__proto__]]></key><dict/></dict>'), 'PLIST_MALFORMED'],
  ['a tag that is not closed', plist('<dict><key>a</key><string>b</dict>'), 'PLIST_MALFORMED'],
  ['an unknown tag', dict('<script/>'), 'PLIST_MALFORMED'],
  ['an attribute', dict('<string id="1">x</string>'), 'PLIST_MALFORMED'],
  ['text between values', plist('<dict>x</dict>'), 'PLIST_MALFORMED'],
  ['a value that has no key', plist('<dict><string>b</string></dict>'), 'PLIST_MALFORMED'],
  ['a half of a document', dict('<string>x</string>').subarray(0, 150), 'PLIST_MALFORMED'],
  ['no base64', dict('<data>%%%</data>'), 'PLIST_MALFORMED'],
  ['a number that is not one', dict('<integer>many</integer>'), 'PLIST_MALFORMED'],
  ['a date that is not one', dict('<date>soon</date>'), 'PLIST_MALFORMED'],
  ['a character that XML does not allow', dict('<string>a\u0001b</string>'), 'PLIST_MALFORMED'],
  ['the same by its number', dict('<string>&#0;</string>'), 'PLIST_MALFORMED'],
  ['half a pair by its number', dict('<string>&#xd800;</string>'), 'PLIST_MALFORMED'],
  ['a comment that is not closed', dict('<!-- <string/>'), 'PLIST_MALFORMED'],
  ['a processing instruction', dict('<?php echo 1 ?>'), 'PLIST_MALFORMED'],
])('%s is refused with a code, and nothing is printed', (_what, bytes, code) => {
  const printed = [vi.spyOn(console, 'error'), vi.spyOn(console, 'warn'), vi.spyOn(process.stderr, 'write')];
  try {
    expect(() => parsePlist(bytes)).toThrow(expect.objectContaining({ name: 'MdmError', code }));
    for (const spy of printed) expect(spy).not.toHaveBeenCalled();
  } finally {
    for (const spy of printed) spy.mockRestore();
  }
});

test('a document type with an odd name prints nothing', () => {
  const printed = vi.spyOn(console, 'error');
  expect(parsePlist(plist('<dict/>', '<!DOCTYPE plist PUBLIC "-//Äpple^" "x">'))).toEqual({});
  expect(printed).not.toHaveBeenCalled();
  printed.mockRestore();
});

test('32 levels are read', () => {
  expect(parsePlist(nested(32))).toHaveProperty('a');
});

test('bytes and values have a limit each', () => {
  const bytes = dict(`<array>${'<true/>'.repeat(50)}</array>`);
  const tooLarge = expect.objectContaining({ code: 'PLIST_TOO_LARGE' });
  expect(() => parsePlist(bytes, { ...PLIST_LIMITS, maxBytes: bytes.byteLength - 1 })).toThrow(tooLarge);
  expect(() => parsePlist(bytes, { ...PLIST_LIMITS, maxElements: 53 })).toThrow(tooLarge);
  expect(parsePlist(bytes, { ...PLIST_LIMITS, maxBytes: bytes.byteLength, maxElements: 54 })).toHaveProperty(
    'a',
  );
});

test('a property list survives a round trip through JSON', () => {
  const value = {
    s: 'x',
    n: 1,
    d: Uint8Array.of(1, 2),
    at: new Date('2026-01-01T00:00:00Z'),
    list: [{ on: true }],
  };
  const json = JSON.parse(JSON.stringify(plistToJson(value)));
  expect(json).toMatchObject({ d: { $data: 'AQI=' }, at: { $date: '2026-01-01T00:00:00.000Z' } });
  expect(plistFromJson(json)).toEqual(value);
  for (const json of [{ a: null }, { b: { c: null } }, { d: [null] }])
    expect(() => plistFromJson(json)).toThrow('is null');
  expect(() => plistFromJson(JSON.parse('{"__proto__": {"x": 1}}'))).toThrow(
    expect.objectContaining({ code: 'COMMAND_INVALID' }),
  );
});
