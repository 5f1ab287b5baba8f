// The Node that a package carries: the one that runs the build. Debian 12 has Node 18, which is too old, so none is depended on.

import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** Shared libraries of Node as published. Debian's own Node needs thirty more, and of exactly their versions. */
const LIBRARIES = /^(?:linux-vdso|lib(?:atomic|c|dl|gcc_s|m|pthread|rt|stdc\+\+)|\/?.*ld-linux[-\w]*)\.so/;

/** The first libstdc++ with each version of its symbols. */
const LIBSTDCXX = { 25: '8', 26: '9', 28: '9.3', 29: '11', 30: '12', 32: '13', 33: '14' };

/** @type {Partial<Record<string, string>>} */
const ARCHITECTURES = { arm: 'armhf', arm64: 'arm64', ppc64: 'ppc64el', s390x: 's390x', x64: 'amd64' };

/** @param {string} arch as Node calls it */
export function debianArchitecture(arch) {
  const known = ARCHITECTURES[arch];
  if (!known) throw new Error(`Debian has no architecture for ${arch}.`);
  return known;
}

/**
 * The shared libraries in the output of ldd that a package cannot just depend on.
 * @param {string} listed
 */
export function foreignLibraries(listed) {
  return listed
    .split('\n')
    .map((line) => line.trim().split(/\s/, 1)[0] ?? '')
    .filter((name) => name !== '' && !LIBRARIES.test(name));
}

/**
 * What a program of these bytes depends on: the newest versions of the symbols that it names.
 * @param {string} bytes as latin1
 */
export function dependenciesOf(bytes) {
  const newest = (/** @type {string} */ prefix) =>
    Math.max(
      0,
      ...[...bytes.matchAll(new RegExp(`${prefix}(\\d+)`, 'g'))].map(([, number]) => Number(number)),
    );
  const symbols = newest('GLIBCXX_3\\.4\\.');
  const [, release] = Object.entries(LIBSTDCXX).find(([number]) => Number(number) >= symbols) ?? [];
  if (!release)
    throw new Error(`This Node needs a libstdc++ that is not known here: GLIBCXX_3.4.${symbols}.`);
  return [`libc6 (>= 2.${newest('GLIBC_2\\.')})`, 'libgcc-s1', `libstdc++6 (>= ${release})`];
}

/**
 * The running Node with its licence, or an error that says what to use instead.
 * @param {string} [binary]
 */
export function nodeToCarry(binary = process.execPath) {
  const { stdout } = spawnSync('ldd', [binary], { encoding: 'utf8' });
  const foreign = foreignLibraries(stdout);
  if (foreign.length > 0)
    throw new Error(
      `The Node at ${binary} needs ${foreign[0]}, as that of a distribution does. Run the build with one from nodejs.org.`,
    );
  const prefix = path.resolve(path.dirname(binary), '..');
  const licence = ['LICENSE', 'share/doc/nodejs/LICENSE', 'share/doc/node/LICENSE']
    .map((file) => path.join(prefix, file))
    .find(existsSync);
  if (!licence)
    throw new Error(`The licence of Node is not in ${prefix}. Run the build with one from nodejs.org.`);
  const atomic = stdout.includes('libatomic.so') ? ['libatomic1'] : [];
  return { binary, licence, dependencies: [...dependenciesOf(readFileSync(binary, 'latin1')), ...atomic] };
}
