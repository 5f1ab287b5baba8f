// Checks the import walls of .dependency-cruiser.cjs. The command of dependency-cruiser is not used: its exit
// code is the number of violations, so 256 of them are a success, and so is a run that has seen no file.

import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { cruise } from 'dependency-cruiser';
import extractDepcruiseOptions from 'dependency-cruiser/config-utl/extract-depcruise-options';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const config = path.join(root, '.dependency-cruiser.cjs');

/** The names of all rules. */
export async function wallNames() {
  const { ruleSet } = await extractDepcruiseOptions(config);
  return (ruleSet?.forbidden ?? []).map((rule) => String(rule.name));
}

/**
 * Which walls the tree under baseDir breaks, and how many of its files were checked.
 * @param {string} baseDir
 */
export async function brokenWalls(baseDir) {
  const options = await extractDepcruiseOptions(config);
  const folders = ['packages', 'apps', 'testing'].filter((folder) => existsSync(path.join(baseDir, folder)));
  const { output } = await cruise(folders, { ...options, baseDir }, { bustTheCache: true });
  if (typeof output === 'string') throw new Error(output);
  return {
    files: output.modules.filter((module) => /^(packages|apps|testing)\//.test(module.source)).length,
    violations: output.summary.violations.map(({ from, rule, to }) => ({ from, rule: rule.name, to })),
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { files, violations } = await brokenWalls(root);
  for (const { from, rule, to } of violations) console.error(`${rule}: ${from} → ${to}`);
  if (files === 0) console.error('No source file was found, so nothing was checked.');
  console.log(`${files} files, ${violations.length} broken walls`);
  process.exitCode = files === 0 || violations.length > 0 ? 1 : 0;
}
