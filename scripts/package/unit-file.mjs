// Reads systemd units and their environment files, as far as ours go: the test of the packages starts what they say without systemd.

/**
 * @param {string} text
 * @returns {(key: string) => string | undefined} the last value of a key, whatever its section; undefined if it is not set
 */
export function readUnit(text) {
  const values = new Map([...text.matchAll(/^([A-Z]\w+)=(.*)$/gm)].map(([, key, value]) => [key, value]));
  return (key) => values.get(key);
}

/** @param {string} text @returns {Record<string, string>} */
export function readEnvironmentFile(text) {
  return Object.fromEntries(
    [...text.matchAll(/^(\w+)=(.*)$/gm)].map(([, name, value = '']) => [
      name,
      value.replace(/^(['"])(.*)\1$/, '$2'),
    ]),
  );
}

/**
 * The words of ExecStart with its variables.
 * @param {string} command @param {Record<string, string>} environment
 */
export function wordsOf(command, environment) {
  return command
    .split(' ')
    .map((word) =>
      word.replace(/\$\{(\w+)\}/g, (_whole, /** @type {string} */ name) => environment[name] ?? ''),
    );
}
