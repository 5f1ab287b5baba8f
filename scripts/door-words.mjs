// The engine never uses the words of the doors. Looks for them in its sources and migrations, as words of
// prose and as parts of names, so that deviceId, device_id and DEVICES are found too.
// 'order', 'task' and 'host' are not on the list, because SQL and plain English need them.

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

const words = new Set([
  ...['bot', 'bots', 'device', 'devices', 'mdm', 'milestone', 'milestones', 'pcs'],
  ...['tablet', 'tablets', 'vip', 'workflow', 'workflows'],
]);
const phrases = [/\bhost[ -]agents?\b/i];

/** @param {string} line */
export function doorWordsIn(line) {
  const parts = line
    .replace(/([a-z\d])([A-Z])/g, '$1 $2') // deviceId → device Id
    .replace(/([A-Z])([A-Z][a-z])/g, '$1 $2') // MDMCommand → MDM Command
    .split(/[^A-Za-z]+/);
  const found = parts.map((part) => part.toLowerCase()).filter((part) => words.has(part));
  return [...found, ...phrases.flatMap((phrase) => phrase.exec(line)?.[0].toLowerCase() ?? [])];
}

/**
 * Every door word in the text files of a folder, as 'file:line: word', and the number of files read.
 * @param {string} folder
 */
export function findDoorWords(folder) {
  const files = readdirSync(folder, { encoding: 'utf8', recursive: true }).filter((file) =>
    /\.(ts|mts|js|json|sql|md)$/.test(file),
  );
  const found = files.sort().flatMap((file) =>
    readFileSync(path.join(folder, file), 'utf8')
      .split('\n')
      .flatMap((line, index) => doorWordsIn(line).map((word) => `${file}:${index + 1}: ${word}`)),
  );
  return { files: files.length, found };
}
