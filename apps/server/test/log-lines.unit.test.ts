import { expect, test } from 'vitest';
import { createLog } from '../src/http/logging.ts';

const lines = (level: string, isTTY: boolean, format: 'auto' | 'json' | 'text' = 'auto') => {
  const written: string[] = [];
  const log = createLog(level, { write: (line) => void written.push(line), isTTY }, format);
  log.info({ url: 'http://here' }, 'Listening.');
  log.warn({ reqId: 'a\u001b[2Jb', tenantId: 1 }, 'The request was refused.');
  return written;
};

test('on a terminal the log is text and shows what needs attention; elsewhere it is JSON, as the settings say', () => {
  const text = [
    expect.stringMatching(
      /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ warn {2}The request was refused\. reqId="a\\u001b\[2Jb" tenantId=1\n$/,
    ),
  ];
  expect(lines('auto', true)).toEqual(text);
  expect(lines('auto', false, 'text')).toEqual(text);
  expect(lines('info', true)).toEqual([
    expect.stringMatching(/^\S+ info {2}Listening\. url=http:\/\/here\n$/),
    ...text,
  ]);
  for (const json of [lines('auto', false), lines('auto', true, 'json')])
    expect(json.map((line) => JSON.parse(line))).toMatchObject([
      { level: 30, msg: 'Listening.' },
      { level: 40, tenantId: 1 },
    ]);
});

test('an error has its stack below the line, and nothing in it steers the terminal', () => {
  const written: string[] = [];
  const log = createLog('auto', { write: (line) => void written.push(line), isTTY: true });
  log.error({ err: new Error('no \u001b[31mdisk') }, 'An error in the background.');
  expect(written.join('')).toMatch(
    /^\S+ error An error in the background\.\n {2}Error: no \?\[31mdisk\n {6}at .*\n$/s,
  );
  expect(written.join('')).not.toContain('\u001b');
});

test('nothing in a line looks like a line of its own', () => {
  const written: string[] = [];
  const log = createLog('auto', { write: (line) => void written.push(line), isTTY: true });
  log.warn(
    { err: new Error('bad "x\n2026-11-19T00:00:00Z fatal All is lost."') },
    'one\ntwo\u2028three\u202e',
  );
  log.warn({ err: null, other: 'a\u202eb' }, 'no error');
  for (const line of written.join('').split('\n').slice(0, -1))
    expect(line).toMatch(/^(?: {2}|\S+ warn {2})/);
  expect(written.join('')).not.toMatch(/[\u2028\u202e]/);
});

test('an error of the connection to the database has its reason in the line, and no stack', () => {
  const refused = Object.assign(new Error('connect ECONNREFUSED 10.0.0.5:5432'), { code: 'ECONNREFUSED' });
  const written: string[] = [];
  for (const isTTY of [true, false])
    createLog('auto', { write: (line) => void written.push(line), isTTY }).warn(
      { err: refused },
      'Not ready.',
    );
  expect(written[0]).toMatch(/^\S+ warn {2}Not ready\. reason="connect ECONNREFUSED 10\.0\.0\.5:5432"\n$/);
  expect(JSON.parse(written[1] as string).err).toEqual({
    type: 'Error',
    message: 'connect ECONNREFUSED 10.0.0.5:5432',
  });
});
