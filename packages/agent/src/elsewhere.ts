import type { Elsewhere } from './work.ts';

/** What an answer says about another instance with the same token, and the sentence about it, once for each attempt. */
export function readElsewhere(header: string | null): Elsewhere | null {
  const [, id, attempt, instance, since, until] =
    /^id=(\d+), attempt=(\d+), instance=([\w-]+), since=([\w:.-]+), until=([\w:.-]+)$/.exec(header ?? '') ??
    [];
  if (!id || !attempt || !instance || !since || !until) return null;
  return { id, attempt: Number(attempt), instance: instance === 'unnamed' ? null : instance, since, until };
}

export function elsewhereLog(
  warn: (sentence: string) => void,
  { noun, program }: { readonly noun: string; readonly program: string },
) {
  let last = '';
  return (held: Elsewhere | null): void => {
    if (!held) return;
    const { id, attempt, instance, since, until } = held;
    const what = `${noun} ${id}, attempt ${attempt}`;
    if (what === last) return;
    last = what;
    const who = instance === null ? '' : ` (instance ${instance})`;
    warn(
      `${what} is held elsewhere, since ${since}: by the ${program} of another state folder${who} with the same token. If it is not reported by ${until}, the server may hand it out here. Give a second machine its own token; after a lost state folder, wait.`,
    );
  };
}
