// Writes a .deb from a tree, reproducibly: the same tree, version and time give the same bytes.

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';

/** @typedef {{ name: string, version: string, architecture: string, maintainer: string, depends: string[], conflicts?: string[], summary: string, description: string[] }} Fields */

/** @param {string} version */
export function isDebianVersion(version) {
  return /^\d[A-Za-z0-9.+~]*(?:-[A-Za-z0-9.+~]+)?$/.test(version);
}

/** @param {Fields} fields @param {number} kilobytes installed */
export function controlText(fields, kilobytes) {
  return `${[
    `Package: ${fields.name}`,
    `Version: ${fields.version}`,
    `Architecture: ${fields.architecture}`,
    `Maintainer: ${fields.maintainer}`,
    `Installed-Size: ${kilobytes}`,
    `Depends: ${fields.depends.join(', ')}`,
    'Section: admin',
    'Priority: optional',
    `Description: ${fields.summary}`,
    ...fields.description.map((line) => ` ${line}`),
  ].join('\n')}\n`;
}

/**
 * Describes a tree in its DEBIAN, and gives all files the permissions and the time of the package.
 * @param {string} tree with the files of the package, and its scripts in DEBIAN
 * @param {{ fields: Fields, executables: readonly string[], secret: readonly string[], seconds: number }} about
 *   what is secret is for root only, until postinst gives it to its user
 */
export function finishTree(tree, { fields, executables, seconds, secret }) {
  const files = below(tree)
    .filter(({ name, entry }) => entry.isFile() && !name.startsWith('DEBIAN/'))
    .map(({ name }) => name);
  const sizes = files.map((name) => lstatSync(path.join(tree, name)).size);
  const settings = files.filter((name) => name.startsWith('etc/'));
  const programs = files.filter((name) => !settings.includes(name));
  const control = path.join(tree, 'DEBIAN');
  const kilobytes = sizes.reduce((sum, size) => sum + Math.ceil(size / 1024), 0);
  mkdirSync(control, { recursive: true });
  writeFileSync(path.join(control, 'control'), controlText(fields, kilobytes));
  writeFileSync(path.join(control, 'conffiles'), settings.map((name) => `/${name}\n`).join(''));
  const sums = programs.map((name) => `${md5(path.join(tree, name))}  ${name}\n`);
  writeFileSync(path.join(control, 'md5sums'), sums.join(''));

  // children first: writing into a folder changes its time
  for (const name of ['', ...below(tree).map((one) => one.name)].reverse()) {
    const where = path.join(tree, name);
    const found = lstatSync(where);
    const isExecutable =
      found.isDirectory() || executables.includes(name) || /^DEBIAN\/p(?:re|ost)/.test(name);
    const open = isExecutable ? 0o755 : 0o644;
    if (!found.isSymbolicLink()) chmodSync(where, secret.includes(name) ? open & 0o750 : open);
    lutimesSync(where, seconds, seconds);
  }
}

/**
 * @param {string} tree finished @param {string} file to write
 * @param {{ seconds: number, fast: boolean }} about `fast` compresses badly
 */
export function writeDeb(tree, file, { fast, seconds }) {
  // one thread: the number of threads changes the bytes
  const compression = fast ? ['-Zgzip', '-z1'] : ['-Zxz', '--threads-max=1'];
  const { status, stderr } = spawnSync(
    'dpkg-deb',
    ['--root-owner-group', ...compression, '--build', tree, file],
    { encoding: 'utf8', env: { PATH: process.env.PATH, SOURCE_DATE_EPOCH: String(seconds) } },
  );
  if (status !== 0) throw new Error(`dpkg-deb failed: ${stderr}`);
}

/** @param {string} file */
function md5(file) {
  return createHash('md5').update(readFileSync(file)).digest('hex');
}

/**
 * Everything in a tree, sorted. Without types, readdir would follow links.
 * @param {string} tree
 */
function below(tree) {
  return readdirSync(tree, { recursive: true, withFileTypes: true })
    .map((entry) => ({ entry, name: path.relative(tree, path.join(entry.parentPath, entry.name)) }))
    .sort((one, other) => (one.name < other.name ? -1 : 1));
}
