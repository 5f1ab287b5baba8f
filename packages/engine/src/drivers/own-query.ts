import type { Query } from '../db.ts';
import { checkOneTenant, ofOneTenant } from './one-tenant.ts';
import { types } from './types.ts';

/**
 * The statement as it is sent: with our parsers, and under a name that stands for this text alone. Two engines, each in a
 * schema of its own, may share a connection, and a name that was prepared for another text is refused there.
 */
export function ownQuery(config: Query, isDistributed = false) {
  // a migration has no values: what looks like parameters in it are those of its functions
  const isOfOne = isDistributed && config.values;
  if (isOfOne) checkOneTenant(config.text, config.values as readonly unknown[]);
  const text = isOfOne ? ofOneTenant(config.text) : config.text;
  return config.name === undefined
    ? { ...config, text, types }
    : { ...config, text, name: nameFor(config.name, text), types };
}

const texts = new Map<string, Map<string, string>>();

function nameFor(name: string, text: string): string {
  const named = texts.get(name) ?? new Map<string, string>();
  if (named.size === 0) texts.set(name, named);
  let own = named.get(text);
  if (own === undefined) {
    own = named.size === 0 ? name : `${name}_${named.size + 1}`;
    named.set(text, own);
  }
  return own;
}
