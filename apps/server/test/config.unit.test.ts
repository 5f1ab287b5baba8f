import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { complaints, readConfig, unknownSettings } from '../src/config.ts';
import { settingsTable } from '../src/http/reference.ts';

test('without any variable every setting has its default', () => {
  expect(readConfig({})).toMatchObject({
    PORT: 4000,
    HOST: '127.0.0.1',
    DATABASE_URL: null,
    MUSTER_OPERATOR_TOKEN: null,
    MUSTER_SCHEMA: 'muster',
    MUSTER_LEASE_SECONDS: 60,
    MUSTER_RETENTION_DAYS: 14,
    MUSTER_LANE_DEPTH_LIMIT: 1000,
    MUSTER_LOG_LEVEL: 'auto',
  });
  expect(readConfig({ MUSTER_DATA_DIR: '' }).MUSTER_DATA_DIR).toBe(`${process.cwd()}/data`);
});

test.each([
  [{ PORT: 'http' }, 'PORT must be a whole number from 0 to 65535, not "http".'],
  [{ PORT: '65536' }, 'PORT must be a whole number from 0 to 65535, not "65536".'],
  [{ PORT: '-1' }, 'PORT must be a whole number from 0 to 65535, not "-1".'],
  [
    { DATABASE_URL: 'mysql://x' },
    'DATABASE_URL must be a URL like postgres://user:password@host:5432/database.',
  ],
  [
    { MUSTER_OPERATOR_TOKEN: 'short' },
    'MUSTER_OPERATOR_TOKEN must have at least 32 characters; it has 5. Try: openssl rand -base64 32',
  ],
  [
    { MUSTER_OPERATOR_TOKEN: 'with a space '.repeat(4) },
    'MUSTER_OPERATOR_TOKEN must be at most 1000 visible ASCII characters without spaces: it is sent in a header.',
  ],
  [
    { MUSTER_SCHEMA: 'Mixed' },
    'MUSTER_SCHEMA must be lower-case letters, digits and underscores, and not begin with a digit.',
  ],
  [
    { MUSTER_METRICS_ALLOW: '10.0.0.1, prometheus' },
    'MUSTER_METRICS_ALLOW must be a list of addresses or networks like 10.0.0.7, 192.168.0.0/16; "prometheus" is neither.',
  ],
  [
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://me:hunter2@collector:4318' },
    'OTEL_EXPORTER_OTLP_ENDPOINT must be a URL like http://127.0.0.1:4318, without a password; secrets belong into OTEL_EXPORTER_OTLP_HEADERS.',
  ],
  [
    { OTEL_EXPORTER_OTLP_HEADERS: 'Bearer secret' },
    'OTEL_EXPORTER_OTLP_HEADERS must be a list like authorization=Bearer%20secret, separated by commas.',
  ],
  [{ OTEL_TRACES_SAMPLER_ARG: '1.5' }, 'OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1, not "1.5".'],
  [
    { MUSTER_LOG_LEVEL: 'loud' },
    'MUSTER_LOG_LEVEL must be one of auto, fatal, error, warn, info, debug, trace, silent, not "loud".',
  ],
])('%j is refused with a sentence that names it', (environment, sentence) => {
  expect(() => readConfig(environment)).toThrow(sentence);
});

test('a wrong DATABASE_URL is not repeated: it contains a password', () => {
  expect(complaints({ DATABASE_URL: 'postgress://me:hunter2@host/db', PORT: 'x' })).toEqual([
    expect.stringContaining('PORT'),
    expect.not.stringContaining('hunter2'),
  ]);
});

test.each(['DATABSE_URL', 'DATABASE_URI', 'DATABASE_URLS', 'DATABASEURL', 'DATABAES_URL'])(
  '%s is reported: a typo would start an empty embedded database',
  (name) => {
    expect(unknownSettings({ [name]: 'x', DATABASE_URL: 'x', DATABASE_NAME: 'x', URL: 'x' })).toEqual([name]);
  },
);

test('variables that look like settings but are not are reported', () => {
  expect(
    unknownSettings({ MUSTER_DATADIR: 'x', MUSTER_DATA_DIR: 'x', MUSTER_TEST_X: '1', PATH: '' }),
  ).toEqual(['MUSTER_DATADIR']);
});

test('docs/operations.md describes every setting as the code does', () => {
  const text = readFileSync(new URL('../../../docs/operations.md', import.meta.url), 'utf8');
  expect(text, 'run npm run generate').toContain(settingsTable());
});
