import type { Query } from '../db.ts';
import { types } from './types.ts';

/**
 * The statement with the engine's parsers and a name that is unique to its text. Two engines in different schemas may
 * share a connection, which refuses a name already prepared for another text.
 */
export function ownQuery(config: Query) {
  const { text, values, isPinned } = config;
  const own: Query & { name?: string; types: typeof types; values?: unknown[]; isPinned?: boolean } = {
    text,
    types,
  };
  if (isPinned) own.isPinned = true;
  if (config.name !== undefined) own.name = nameFor(config.name, text);
  if (values !== undefined) own.values = values;
  return own;
}

const texts = new Map<string, Map<string, string>>();

function nameFor(name: string, text: string): string {
  const named = texts.get(name) ?? new Map<string, string>();
  if (named.size === 0) texts.set(name, named);
  let own = named.get(text);
  if (own === undefined) {
    own = named.size === 0 ? name : `${name}~${named.size + 1}`;
    named.set(text, own);
  }
  return own;
}
