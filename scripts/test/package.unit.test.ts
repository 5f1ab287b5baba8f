import { spawnSync } from 'node:child_process';
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { SETTINGS } from '../../apps/server/src/config.ts';
import { builtFiles, carriedOfWorkspace, closureOf, isNeededToRun } from '../package/carried.mjs';
import { controlText, finishTree, isDebianVersion } from '../package/deb.mjs';
import { debianArchitecture, dependenciesOf, foreignLibraries } from '../package/node-binary.mjs';
import { packagedUnit } from '../package/trees.mjs';
import { readEnvironmentFile, readUnit, wordsOf } from '../package/unit-file.mjs';

const root = path.resolve(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(path.join(root, file), 'utf8');
const server = read('deploy/debian/muster/files/usr/lib/systemd/system/muster.service');
const units = {
  muster: server,
  'muster-agent': packagedUnit(read('packages/agent/systemd/muster-agent.service')),
  'muster-runner': packagedUnit(read('packages/agent/systemd/muster-runner.service')),
};

function folder(): string {
  const made = mkdtempSync(path.join(tmpdir(), 'muster-package-test-'));
  onTestFinished(() => rmSync(made, { force: true, recursive: true }));
  return made;
}

const fields = {
  name: 'muster',
  version: '1.2.3+site1',
  architecture: 'amd64',
  maintainer: 'Somebody <somebody@localhost>',
  depends: ['adduser', 'libc6 (>= 2.28)'],
  summary: 'what it is',
  description: ['Two', 'lines.'],
};

test('the control file has the fields in the form that dpkg reads', () => {
  expect(controlText(fields, 7)).toBe(`Package: muster
Version: 1.2.3+site1
Architecture: amd64
Maintainer: Somebody <somebody@localhost>
Installed-Size: 7
Depends: adduser, libc6 (>= 2.28)
Section: admin
Priority: optional
Description: what it is
 Two
 lines.
`);
});

test.each(['0.1.0', '1.0.0~rc1', '1.2.3+site1', '1.2.3-1'])('%s is a version of a package', (version) => {
  expect(isDebianVersion(version)).toBe(true);
});

test.each(['', 'v1.0.0', '1.0 0', '1.0.0_1', '../1'])('"%s" is not', (version) => {
  expect(isDebianVersion(version)).toBe(false);
});

test('a package has its settings as conffiles, sums of the rest, and permissions and times by its rules', () => {
  const tree = folder();
  mkdirSync(path.join(tree, 'usr/bin'), { recursive: true });
  mkdirSync(path.join(tree, 'etc'));
  writeFileSync(path.join(tree, 'etc/a.env'), 'A=1\n', { mode: 0o666 });
  writeFileSync(path.join(tree, 'etc/b.env'), 'B=1\n', { mode: 0o600 });
  writeFileSync(path.join(tree, 'usr/bin/muster'), '#!/bin/sh\n', { mode: 0o600 });
  symlinkSync('bin', path.join(tree, 'usr/again'));
  finishTree(tree, {
    fields,
    executables: ['usr/bin/muster'],
    secret: ['etc/a.env'],
    seconds: 1_000_000_000,
  });
  const control = (file: string) => readFileSync(path.join(tree, 'DEBIAN', file), 'utf8');
  expect(control('conffiles')).toBe('/etc/a.env\n/etc/b.env\n');
  expect(control('md5sums')).toBe('3e2b31c72181b87149ff995e7202c0e3  usr/bin/muster\n');
  expect(control('control')).toMatch(/^Installed-Size: 3$/m);
  const found = (file: string) => lstatSync(path.join(tree, file));
  const modes = ['etc', 'etc/a.env', 'etc/b.env', 'usr/bin/muster'].map((file) => found(file).mode & 0o777);
  expect(modes).toEqual([0o755, 0o640, 0o644, 0o755]);
  for (const file of ['', 'DEBIAN', 'etc', 'etc/a.env', 'usr/again', 'usr/bin'])
    expect(found(file).mtimeMs, file).toBe(1_000_000_000_000);
});

test('a Node needs what its symbols say, and that of a distribution is refused', () => {
  expect(dependenciesOf('x GLIBC_2.9 GLIBC_2.28 y GLIBCXX_3.4.21 GLIBCXX_3.4.9')).toEqual([
    'libc6 (>= 2.28)',
    'libgcc-s1',
    'libstdc++6 (>= 8)',
  ]);
  expect(() => dependenciesOf('GLIBC_2.40 GLIBCXX_3.4.99')).toThrow(/GLIBCXX_3\.4\.99/);
  const published =
    '\tlinux-vdso.so.1 (0x0)\n\tlibdl.so.2 => /lib/libdl.so.2 (0x0)\n\tlibstdc++.so.6 => /l (0x0)\n\t/lib64/ld-linux-x86-64.so.2 (0x0)\n';
  expect(foreignLibraries(published)).toEqual([]);
  expect(foreignLibraries(`${published}\tlibnode.so.108 => /lib/libnode.so.108 (0x0)\n`)).toEqual([
    'libnode.so.108',
  ]);
  expect(debianArchitecture('x64')).toBe('amd64');
  expect(() => debianArchitecture('mips')).toThrow(/mips/);
});

test('a workspace ships what its sources are built into, with its migrations, and nothing that is left from removed ones', () => {
  const tree = folder();
  for (const file of [
    'src/a.ts',
    'src/b.mjs',
    'src/c.d.ts',
    'src/d.unit.test.ts',
    'dist/a.js',
    'dist/a.js.map',
    'dist/b.mjs',
    'dist/gone.js',
    'test/a.test.ts',
    'migrations/001.up.sql',
  ]) {
    mkdirSync(path.join(tree, 'packages/x', path.dirname(file)), { recursive: true });
    writeFileSync(path.join(tree, 'packages/x', file), '');
  }
  writeFileSync(path.join(tree, 'packages/x/package.json'), '{ "files": ["dist", "migrations"] }');
  expect(carriedOfWorkspace(tree, 'packages/x').map((file) => file.replace('packages/x/', ''))).toEqual([
    'package.json',
    'migrations/001.up.sql',
    'dist/a.js',
    'dist/b.mjs',
  ]);
  rmSync(path.join(tree, 'packages/x/dist/a.js'));
  expect(() => builtFiles(tree, 'packages/x')).toThrow('packages/x/dist/a.js is not built.');
});

test.each([
  ['node_modules/a/index.js', true],
  ['node_modules/a/package.json', true],
  ['node_modules/a/LICENSE.md', true],
  ['node_modules/a/lib/test/run.js', true],
  ['node_modules/@electric-sql/pglite/dist/pglite.wasm', true],
  ['node_modules/@electric-sql/pglite/dist/pglite.data', true],
  ['node_modules/@electric-sql/pglite/dist/pgcrypto.tar.gz', false],
  ['node_modules/.bin/semver', false],
  ['node_modules/a/README.md', false],
  ['node_modules/a/index.d.ts', false],
  ['node_modules/a/index.js.map', false],
  ['node_modules/@b/a/test/run.js', false],
  ['node_modules/a/node_modules/c/test/run.js', false],
])('of the npm packages, %s ships: %s', (file, ships) => {
  expect(isNeededToRun(file)).toBe(ships);
});

test('the package of agent and runner carries no database and no HTTP server: only commander', () => {
  const { files, packages } = closureOf(root, 'apps/server/bin/muster-agent.js');
  const forTraces = ['api', 'exporter-trace-otlp-http', 'resources', 'sdk-trace-base'];
  expect(packages).toEqual([...forTraces.map((name) => `@opentelemetry/${name}`), 'commander']);
  expect(files).toEqual(
    expect.arrayContaining(['apps/server/dist/cli/runner.js', 'packages/agent/dist/runner/runner.js']),
  );
  expect(files.filter((file) => !/^(?:apps\/server|packages\/agent)\//.test(file))).toEqual([]);
  expect(closureOf(root, 'apps/server/bin/muster.js').packages).toContain('fastify');
});

test('the units start the programs of the packages, as their users, with their settings', () => {
  expect(readUnit(units.muster)('ExecStart')).toBe(
    '/usr/lib/muster/bin/node --max-semi-space-size=64 /usr/lib/muster/apps/server/bin/muster.js serve',
  );
  expect(readUnit(units.muster)('User')).toBe('muster');
  expect(readUnit(units['muster-agent'])('ExecStart')).toMatch(/^\/usr\/bin\/muster-agent agent --server /);
  expect(readUnit(units['muster-agent'])('User')).toBeUndefined();
  expect(readUnit(units['muster-runner'])('ExecStart')).toMatch(/^\/usr\/bin\/muster-agent runner --server /);
  expect(readUnit(units['muster-runner'])('User')).toBe('muster-runner');
  for (const [name, unit] of Object.entries(units)) {
    const settings = readUnit(unit)('EnvironmentFile') ?? '';
    const owner = name === 'muster' ? 'muster' : 'muster-agent';
    const text = read(`deploy/debian/${owner}/files${settings}`);
    for (const [, variable] of unit.matchAll(/\$\{(\w+)\}/g)) expect(text).toContain(`#${variable}=`);
  }
  expect(() => packagedUnit('[Service]\nExecStart=/opt/other/muster.js agent\n')).toThrow(/once/);
});

test('the unit of the server has the limits and the sandbox that the docs promise, and lets V8 compile', () => {
  const of = readUnit(server);
  expect(of('EnvironmentFile')).toBe('/etc/muster/muster.env');
  expect(of('StateDirectory')).toBe('muster');
  expect(of('StateDirectoryMode')).toBe('0700');
  expect(of('Restart')).toBe('on-failure');
  expect(of('LimitNOFILE')).toBe('65536');
  expect(of('ProtectSystem')).toBe('strict');
  expect(of('NoNewPrivileges')).toBe('yes');
  expect(of('CapabilityBoundingSet')).toBe('');
  expect(of('StandardOutput')).toBe('null');
  expect(of('MemoryDenyWriteExecute')).toBeUndefined();
  // the server sends no READY=1, so Type=notify would end it after each start
  expect(of('Type')).toBe('exec');
});

test('systemd waits longer for the stop of the server than the server itself', () => {
  const [, connections] = /LONGEST_STOP_MS = ([\d_]+)/.exec(read('apps/server/src/http/app.ts')) ?? [];
  const [, rest] = /REST_OF_STOP_MS = ([\d_]+)/.exec(read('apps/server/src/cli/serve.ts')) ?? [];
  const ms = [connections, rest].reduce((sum, text) => sum + Number(text?.replaceAll('_', '')), 0);
  const patience = Number(readUnit(server)('TimeoutStopSec'));
  expect(patience * 1_000).toBeGreaterThan(ms);
  expect(read('deploy/compose.yaml')).toContain(`stop_grace_period: ${patience}s`);
});

test('the settings that the package installs are settings of the server, and the data folder is that of the unit', () => {
  const text = read('deploy/debian/muster/files/etc/muster/muster.env');
  const names = [...text.matchAll(/^#?([A-Z_]+)=/gm)].map(([, name = '']) => name);
  expect(names).toContain('DATABASE_URL');
  expect(names.filter((name) => !Object.hasOwn(SETTINGS, name))).toEqual([]);
  expect(readEnvironmentFile(text)).toEqual({
    MUSTER_DATA_DIR: `/var/lib/${readUnit(server)('StateDirectory')}`,
  });
});

test('scripts of the packages are shell that parses, stops at errors, and calls systemd only where it runs', () => {
  const scripts = ['muster', 'muster-agent'].flatMap((name) => {
    const folder = `deploy/debian/${name}/control`;
    return readdirSync(path.join(root, folder)).map((script) => `${folder}/${script}`);
  });
  expect(scripts).toHaveLength(6);
  for (const script of scripts) {
    expect(spawnSync('sh', ['-n', path.join(root, script)]).status, script).toBe(0);
    const text = read(script);
    expect(text).toMatch(/^#!\/bin\/sh\nset -e\n/);
    const guard = text.indexOf('[ -d /run/systemd/system ]');
    expect(guard, script).toBeGreaterThan(0);
    for (const { index } of text.matchAll(/systemctl|deb-systemd-invoke/g))
      expect(index, script).toBeGreaterThan(guard);
  }
});

test('an environment file is read as systemd reads it', () => {
  const read = readEnvironmentFile("# A=0\nA=1\nB='two # words'\n\nC=\n");
  expect(read).toEqual({ A: '1', B: 'two # words', C: '' });
  // biome-ignore lint/suspicious/noTemplateCurlyInString: as in a unit
  expect(wordsOf('/bin/x --pc ${A} --exec ${B}', read)).toEqual([
    '/bin/x',
    '--pc',
    '1',
    '--exec',
    'two # words',
  ]);
});

test('the compose file and the Containerfile name existing settings, folders and images of today', () => {
  const compose = read('deploy/compose.yaml');
  const [, server = ''] = compose.split('\n  muster:\n');
  const [, environment = ''] = /\n {4}environment:\n((?: {6}.*\n)+)/.exec(server) ?? [];
  const names = [...environment.matchAll(/^ {6}(\w+):/gm)].map(([, name = '']) => name);
  expect(names).toEqual(['DATABASE_URL', 'MUSTER_SECRETS_KEY']);
  expect(names.filter((name) => !Object.hasOwn(SETTINGS, name))).toEqual([]);
  expect(compose).toContain('data:/var/lib/muster');
  expect(compose).toContain(`:${SETTINGS.PORT.default}/readyz`);
  const asked = [...compose.matchAll(/\$\{(\w+)/g)].map(([, name = '']) => name);
  const [, line = ''] = /printf '(.*)' .* > deploy\/\.env/.exec(read('docs/install.md')) ?? [];
  for (const name of asked) expect(line).toContain(`${name}=`);

  const container = read('deploy/Containerfile');
  const [, major] = /^FROM node:(\d+)-bookworm-slim AS build$/m.exec(container) ?? [];
  expect(Number(major)).toBeGreaterThanOrEqual(20);
  expect(container).toMatch(/^USER muster$/m);
  expect(container).toContain(`EXPOSE ${SETTINGS.PORT.default}`);
  for (const [, name = ''] of container.matchAll(/^ENV (\w+)=/gm)) expect(SETTINGS).toHaveProperty(name);
});
