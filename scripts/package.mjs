// `npm run package`: builds what changed and writes the Debian packages muster and muster-agent. See docs/install.md.

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { buildConsole } from './console.mjs';
import { prepareCheckout, root, runTool } from './install.mjs';
import { finishTree, isDebianVersion, writeDeb } from './package/deb.mjs';
import { debianArchitecture, nodeToCarry } from './package/node-binary.mjs';
import { makeAgentTree, makeServerTree } from './package/trees.mjs';

prepareCheckout();
const { values } = parseArgs({
  options: {
    /** a folder */
    out: { type: 'string', default: path.join(root, 'dist-packages') },
    version: {
      type: 'string',
      default: JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')).version,
    },
    maintainer: { type: 'string', default: 'The Muster authors <muster@localhost>' },
    /** compresses badly, for tests */
    fast: { type: 'boolean', default: false },
  },
});
try {
  build();
} catch (error) {
  console.error(/** @type {Error} */ (error).message);
  process.exitCode = 1;
}

function build() {
  const { fast, maintainer, out, version } = values;
  if (!isDebianVersion(version)) throw new Error(`"${version}" is not a version of a Debian package.`);
  if (spawnSync('dpkg-deb', ['--version']).status !== 0)
    throw new Error('dpkg-deb is missing: install dpkg.');
  const { binary, dependencies, licence } = nodeToCarry();
  if (runTool('typescript/bin/tsc', ['-b']).status !== 0) throw new Error('The build failed.');
  buildConsole();
  if (!existsSync(path.join(root, 'apps/console/dist/index.html')))
    throw new Error('The console is not built.');

  const about = { root, version, seconds: secondsOfBuild(), maintainer, node: { binary, licence } };
  const common = { version, architecture: debianArchitecture(process.arch), maintainer };
  const packages = [
    {
      make: makeServerTree,
      name: 'muster',
      executables: ['usr/bin/muster', 'usr/lib/muster/bin/node'],
      secret: ['etc/muster/muster.env'],
      depends: ['adduser', 'init-system-helpers (>= 1.52)', ...dependencies],
      summary: 'command plane for fleets that are not always online',
      description: [
        'You queue an action now; it runs when the device, host, phone or bot comes',
        'back: durable, in order, one at a time per target, and retried when it fails.',
        'This is the server with its web console and the muster command. It carries its',
        'own Node.js, and an embedded database for those without PostgreSQL.',
      ],
    },
    {
      make: makeAgentTree,
      name: 'muster-agent',
      executables: ['usr/bin/muster-agent', 'usr/lib/muster-agent/bin/node'],
      secret: ['etc/muster-agent', 'etc/muster-runner'],
      depends: ['adduser', 'init-system-helpers (>= 1.52)', ...dependencies],
      summary: 'agent of a host and runner of a PC for a Muster server',
      description: [
        'The agent starts, stops and restarts the services of this host that you list.',
        'The runner keeps the slots of a PC full and runs your script for each device.',
        'Both take their work from a Muster server and keep results until it has them.',
        'They carry their own Node.js.',
      ],
    },
  ];
  mkdirSync(out, { recursive: true });
  for (const { make, executables, secret, ...fields } of packages) {
    const tree = mkdtempSync(path.join(tmpdir(), 'muster-package-'));
    try {
      make(tree, about);
      const { seconds } = about;
      finishTree(tree, { fields: { ...common, ...fields }, executables, secret, seconds });
      const file = path.join(out, `${fields.name}_${version}_${common.architecture}.deb`);
      writeDeb(tree, file, { seconds, fast });
      console.log(`${file} (${(statSync(file).size / 1e6).toFixed(1)} MB)`);
    } finally {
      rmSync(tree, { force: true, recursive: true });
    }
  }
}

/** The time that all files get: that of the commit, so that its packages are the same wherever they are built. */
function secondsOfBuild() {
  const given = process.env.SOURCE_DATE_EPOCH;
  if (given !== undefined && /^\d+$/.test(given)) return Number(given);
  const { status, stdout } = spawnSync('git', ['log', '-1', '--format=%ct'], { cwd: root, encoding: 'utf8' });
  if (status !== 0)
    throw new Error('This is not a git checkout: set SOURCE_DATE_EPOCH to the seconds since 1970.');
  return Number(stdout);
}
