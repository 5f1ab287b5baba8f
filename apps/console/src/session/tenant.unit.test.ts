import { expect, test } from 'vitest';
import { samePageOf } from './tenant.ts';

test('another tenant opens on the same page, and on its overview where the page has an id', () => {
  expect(samePageOf('acme', '/actions')).toBe('/t/acme/actions');
  expect(samePageOf('default', '/t/acme/dead-letters')).toBe('/dead-letters');
  expect(samePageOf('acme', '/devices/4')).toBe('/t/acme');
  expect(samePageOf('default', '/t/acme')).toBe('/');
});
