// The trees of the two Debian packages, from a built checkout: what is in deploy/debian, the program, and Node.

import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { installPackages } from '../install.mjs';
import { carriedOfWorkspace, closureOf, filesBelow, isNeededToRun } from './carried.mjs';

/** @typedef {{ root: string, version: string, seconds: number, maintainer: string, node: { binary: string, licence: string } }} Build */

/** npm packages that agent and runner may need; anything else means that they have grown. */
const OF_AGENT = ['commander'];
const IN_CHECKOUT = '/opt/muster/apps/server/bin/muster.js';

/**
 * The server with its console, the muster command, and the npm packages of production.
 * @param {string} tree @param {Build} build
 */
export function makeServerTree(tree, build) {
  const home = path.join(tree, 'usr/lib/muster');
  installProduction(build.root, home);
  // npm links the workspaces that the server needs, and only those
  const links = readdirSync(path.join(home, 'node_modules/@muster'));
  const needed = links.map((name) => (name === 'server' ? 'apps/server' : `packages/${name}`));
  for (const workspace of needed) copy(build.root, home, carriedOfWorkspace(build.root, workspace));
  copy(
    build.root,
    home,
    filesBelow(build.root, 'apps/console/dist').filter((file) => !file.includes('/.')),
  );
  const pages = readdirSync(path.join(build.root, 'docs')).filter((name) => name.endsWith('.md'));
  addCommon(tree, 'muster', build, pages);
}

/**
 * Agent and runner: one program, and the units of the checkout, which start it from where the package has it.
 * @param {string} tree @param {Build} build
 */
export function makeAgentTree(tree, build) {
  const home = path.join(tree, 'usr/lib/muster-agent');
  const { files, packages } = closureOf(build.root, 'apps/server/bin/muster-agent.js');
  const unexpected = packages.filter((name) => !OF_AGENT.includes(name));
  if (unexpected.length > 0)
    throw new Error(`The agent imports ${unexpected.join(', ')}, which its package does not carry.`);
  copy(build.root, home, [...files, 'apps/server/package.json', 'packages/agent/package.json']);
  for (const name of packages)
    copy(build.root, home, filesBelow(build.root, `node_modules/${name}`).filter(isNeededToRun));
  mkdirSync(path.join(home, 'node_modules/@muster'));
  symlinkSync('../../packages/agent', path.join(home, 'node_modules/@muster/agent'));
  for (const name of ['agent', 'runner']) {
    const file = `muster-${name}.service`;
    const unit = readFileSync(path.join(build.root, 'packages/agent/systemd', file), 'utf8');
    write(tree, path.join('usr/lib/systemd/system', file), packagedUnit(unit));
  }
  addCommon(tree, 'muster-agent', build, ['agent-install.md', 'runner.md']);
}

/**
 * The unit of a checkout in /opt/muster as that of the package: it starts the command of the package, and scripts of the runner
 * get the user that the package makes.
 * @param {string} unit
 */
export function packagedUnit(unit) {
  const parts = unit.split(IN_CHECKOUT);
  if (parts.length !== 2) throw new Error(`A unit must start ${IN_CHECKOUT} once.`);
  return parts
    .join('/usr/bin/muster-agent')
    .replace(/^# The script runs as this user; .*\n# User=.*$/m, 'User=muster-runner\nGroup=muster-runner');
}

/** @param {string} root @param {string} home */
function installProduction(root, home) {
  const scratch = mkdtempSync(path.join(tmpdir(), 'muster-npm-'));
  try {
    const manifests = ['apps', 'packages'].flatMap((folder) =>
      readdirSync(path.join(root, folder)).map((name) => `${folder}/${name}/package.json`),
    );
    copy(root, scratch, ['package.json', 'package-lock.json', '.npmrc', ...manifests]);
    installPackages(scratch, [
      '--omit=dev',
      '--ignore-scripts',
      '--prefer-offline',
      '--workspace=@muster/server',
    ]);
    // some are below the workspace that needs another version of them than the rest
    const installed = filesBelow(scratch, '.').filter((file) => file.includes('node_modules/'));
    copy(scratch, home, installed.filter(isNeededToRun));
    const links = path.join('node_modules/@muster');
    mkdirSync(path.join(home, links), { recursive: true });
    for (const name of readdirSync(path.join(scratch, links)))
      symlinkSync(readlinkSync(path.join(scratch, links, name)), path.join(home, links, name));
  } finally {
    rmSync(scratch, { force: true, recursive: true });
  }
}

/**
 * What both packages have: their files and scripts from deploy/debian, Node, documentation and licences.
 * @param {string} tree @param {string} name @param {Build} build @param {string[]} pages of docs
 */
function addCommon(tree, name, { root, version, seconds, maintainer, node }, pages) {
  const text = (/** @type {string} */ file) => readFileSync(file, 'utf8');
  const given = path.join(root, 'deploy/debian', name);
  cpSync(path.join(given, 'files'), tree, { recursive: true });
  cpSync(path.join(given, 'control'), path.join(tree, 'DEBIAN'), { recursive: true });
  const binary = path.join(tree, 'usr/lib', name, 'bin/node');
  mkdirSync(path.dirname(binary), { recursive: true });
  cpSync(node.binary, binary, { dereference: true });
  // not with the documentation, which images of containers leave out
  write(tree, path.join('usr/lib', name, 'NODE-LICENSE'), text(node.licence));

  const docs = path.join('usr/share/doc', name);
  for (const page of pages) write(tree, path.join(docs, page), text(path.join(root, 'docs', page)));
  write(tree, path.join(docs, 'copyright'), copyrightText(name, text(path.join(root, 'LICENSE'))));
  write(
    tree,
    path.join(docs, 'changelog.gz'),
    gzipSync(changelogText(name, { version, seconds, maintainer }), { level: 9 }),
  );
}

/** @param {string} name @param {string} licence */
function copyrightText(name, licence) {
  const [, , copyright = '', , ...terms] = licence.trimEnd().split('\n');
  const paragraph = terms.map((line) => (line === '' ? ' .' : ` ${line}`)).join('\n');
  return `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Muster

Files: *
Copyright: ${copyright.replace(/^Copyright \(c\) /, '')}
License: Expat
${paragraph}

Files: usr/lib/${name}/bin/node
Copyright: Node.js contributors, and those that /usr/lib/${name}/NODE-LICENSE names
License: Node.js
 In /usr/lib/${name}/NODE-LICENSE.

Files: usr/lib/${name}/node_modules/*
Copyright: the authors that the package.json or the licence in each folder names
License: npm
 In the folder of each package, or named in its package.json.
`;
}

/** @param {string} name @param {{ version: string, seconds: number, maintainer: string }} about */
function changelogText(name, { version, seconds, maintainer }) {
  const date = new Date(seconds * 1_000).toUTCString().replace('GMT', '+0000');
  return `${name} (${version}) stable; urgency=medium\n\n  * See CHANGELOG.md of this version.\n\n -- ${maintainer}  ${date}\n`;
}

/** @param {string} from @param {string} to @param {string[]} files */
function copy(from, to, files) {
  for (const file of files) {
    mkdirSync(path.dirname(path.join(to, file)), { recursive: true });
    cpSync(path.join(from, file), path.join(to, file), { dereference: true });
  }
}

/** @param {string} tree @param {string} file @param {string | Buffer} content */
function write(tree, file, content) {
  mkdirSync(path.dirname(path.join(tree, file)), { recursive: true });
  writeFileSync(path.join(tree, file), content);
}
