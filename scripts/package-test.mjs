// `npm run package:test`: builds the Debian packages, installs them in a fresh root made by debootstrap, and starts there what
// their units say. Needs root, debootstrap and a mirror of Debian; not part of CI. See docs/install.md.

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  appendFileSync,
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { root as checkout } from './install.mjs';
import { freshRoot } from './package/fresh-root.mjs';

const PATIENCE_MS = 60_000;
const WANTED = 'etc/systemd/system/multi-user.target.wants';
const UNITS = ['muster.service', 'muster-agent.service', 'muster-runner.service'];

const { values } = parseArgs({
  options: { suite: { type: 'string', default: 'bookworm' }, keep: { type: 'boolean', default: false } },
});
if (process.getuid?.() !== 0 || spawnSync('debootstrap', ['--version']).status !== 0) {
  console.error('This test needs root and debootstrap: apt-get install debootstrap');
  process.exit(1);
}

const scratch = mkdtempSync(path.join(tmpdir(), 'muster-debs-'));
const version = JSON.parse(readFileSync(path.join(checkout, 'package.json'), 'utf8')).version;
const [first, again, next] = [
  build('first', `${version}+test1`),
  build('again', `${version}+test1`),
  build('next', `${version}+test2`),
];
const root = freshRoot(values.suite);
/** @type {ReturnType<typeof root.startUnit>[]} */
const started = [];
let failed = 0;
try {
  await play();
} catch (error) {
  failed += 1;
  console.error(error);
  for (const { output } of started) console.error(output);
} finally {
  for (const one of started) if (!one.hasEnded) await one.kill();
  if (values.keep) console.log(`Kept: ${root.folder} and ${scratch}`);
  else {
    root.remove();
    rmSync(scratch, { force: true, recursive: true });
  }
}
console.log(failed === 0 ? 'All is as it must be.' : `${failed} failed.`);
process.exitCode = failed === 0 ? 0 : 1;

async function play() {
  is('two builds of one commit are the same, byte by byte', first.map(sha256), again.map(sha256));

  install(first);
  checkInstalled();
  checkUnits();

  const port = await freePort();
  const server = `http://127.0.0.1:${port}`;
  appendFileSync(root.at('etc/muster/muster.env'), `PORT=${port}\n`);
  const settings = readFileSync(root.at('etc/muster/muster.env'), 'utf8');
  let muster = start('muster.service');
  await untilReady(server, muster);
  const call = callerOf(server, readFileSync(root.at('var/lib/muster/operator-token'), 'utf8').trim());
  const page = await fetch(server);
  is('the console is served', [page.status, (await page.text()).includes('<div id="root">')], [200, true]);
  is('an action is queued, claimed and reported', await oneAction(call), 'succeeded');
  const list = root.run('muster', 'token', 'list');
  is('root lists tokens with the muster command', list.status, 0);
  is(
    'nothing in the data folder belongs to root',
    root.run('find', '/var/lib/muster', '!', '-user', 'muster').output,
    '',
  );

  const hostAction = await withAgent(call, server);
  const taskDevice = await withRunner(call, server);

  // as `systemctl disable` does
  rmSync(root.at(`${WANTED}/muster.service`));
  install(next);
  is('a server that was disabled stays so', readdirSync(root.at(WANTED)).includes('muster.service'), false);
  is('the upgrade is installed', installedVersion('muster'), `${version}+test2`);
  is('the upgrade keeps the settings', readFileSync(root.at('etc/muster/muster.env'), 'utf8'), settings);
  is('and their permissions', modeOf('/etc/muster/muster.env'), '640 root:muster');
  is(
    'and the token of the agent',
    readFileSync(root.at('etc/muster-agent/token'), 'utf8').slice(0, 10),
    'mst_agent_',
  );
  is('the server stops with exit code 0', await muster.stop(), 0);
  muster = start('muster.service');
  await untilReady(server, muster);
  is(
    'after the upgrade the action is still there',
    (await call(`/api/actions/${hostAction}`)).state,
    'succeeded',
  );
  is('and the device of the task', (await call(`/api/task-devices/${taskDevice}`)).status, 'completed');
  is('the upgraded server stops with exit code 0', await muster.stop(), 0);

  const removal = root.run('dpkg', '--remove', 'muster', 'muster-agent');
  is('a removal says what stays', /stay in \/etc\/muster and \/var\/lib\/muster/.test(removal.output), true);
  is('it leaves no program', root.run('find', '/usr', '-name', '*muster*').output, '');
  is(
    'it keeps settings and data',
    root.run('ls', '/etc/muster/muster.env', '/var/lib/muster/operator-token').status,
    0,
  );
  is(
    'and those of the agent',
    root.run('ls', '/etc/muster-agent/token', '/var/lib/muster-agent/instance').status,
    0,
  );
  is('a purge succeeds', root.run('dpkg', '--purge', 'muster', 'muster-agent').status, 0);
  is(
    'and leaves nothing',
    root.run('find', '/', '-xdev', '-path', '/proc', '-prune', '-o', '-name', '*muster*', '-print').output,
    '',
  );
}

function checkInstalled() {
  is('the settings are for the service only', modeOf('/etc/muster/muster.env'), '640 root:muster');
  is('the data folder is for the service only', modeOf('/var/lib/muster'), '700 muster:muster');
  is('the settings of the agent are for root only', modeOf('/etc/muster-agent'), '700 root:root');
  is('those of the runner for its user', modeOf('/etc/muster-runner'), '750 root:muster-runner');
  for (const user of ['muster', 'muster-runner'])
    is(
      `${user} is a system user that cannot sign in`,
      /^\S+:x:[1-9]\d{2}:.*\/(?:nologin|false)$/m.test(root.run('getent', 'passwd', user).output),
      true,
    );
  const programs = ['/usr/lib/muster', '/usr/lib/muster-agent'];
  is('the programs belong to root', root.run('find', ...programs, '!', '-user', 'root').output, '');
  is(
    'and nobody else may write them',
    root.run('find', ...programs, '!', '-type', 'l', '-perm', '/022').output,
    '',
  );
  is('no other Node is installed', root.run('which', 'node').status, 1);
  is('Node runs', root.run('/usr/lib/muster/bin/node', '--version').output.trim(), process.version);
  is(
    'the files are those of the packages',
    root.run('dpkg', '--verify', 'muster', 'muster-agent').output.replace(/^.* c .*\n/gm, ''),
    '',
  );
  const wanted = readdirSync(root.at(WANTED));
  is(
    'the server starts with the machine; agent and runner do not',
    UNITS.filter((name) => wanted.includes(name)),
    ['muster.service'],
  );
}

function checkUnits() {
  const files = UNITS.map((name) => `/usr/lib/systemd/system/${name}`);
  const verified = root.run('systemd-analyze', 'verify', '--man=no', ...files);
  is('systemd accepts the units', [verified.status, verified.output], [0, '']);
  // 0 is the best and 10 the worst; scripts of the runner may need much
  for (const [name, most] of /** @type {const} */ ([
    ['muster', 25],
    ['muster-agent', 50],
    ['muster-runner', 85],
  ])) {
    const { output, status } = root.run(
      'systemd-analyze',
      'security',
      '--offline=true',
      `--threshold=${most}`,
      `/usr/lib/systemd/system/${name}.service`,
    );
    is(
      `systemd rates the exposure of ${name} at most ${most / 10}: ${/level.*: ([\d.]+)/.exec(output)?.[1]}`,
      status,
      0,
    );
  }
}

/** @param {Call} call @param {string} server @returns the id of an action that the agent has carried out */
async function withAgent(call, server) {
  const { agentToken, id: hostId } = await call('/api/hosts', { name: 'web-1' });
  writeFileSync(root.at('etc/muster-agent/token'), `${agentToken}\n`, { mode: 0o600 });
  appendFileSync(root.at('etc/muster-agent/environment'), `MUSTER_SERVER=${server}\n`);
  appendFileSync(root.at('etc/muster-agent/units'), 'nginx.service\n');
  // systemd does not run here; this stands for its command and is found first
  const systemctl = root.at('usr/local/bin/systemctl');
  writeFileSync(systemctl, '#!/bin/sh\necho "systemctl $* as $(id -un)"\n');
  chmodSync(systemctl, 0o755);
  const agent = start('muster-agent.service');
  const { id: serviceId } = await call(`/api/hosts/${hostId}/services`, {
    unitName: 'nginx.service',
    displayName: 'Web',
  });
  const { id } = await call(`/api/hosts/${hostId}/actions`, { serviceId, kind: 'restart' });
  const ended = await until(async () => {
    const action = await call(`/api/hosts/${hostId}/actions/${id}`);
    return ['succeeded', 'failed'].includes(action.status) ? action : undefined;
  });
  is('the agent carries out an action of its host', ended.status, 'succeeded');
  is('as root', JSON.stringify(ended).includes('systemctl restart -- nginx.service as root'), true);
  is('the agent stops with exit code 0', await agent.stop(), 0);
  rmSync(systemctl);
  return id;
}

/** @param {Call} call @param {string} server @returns the id of a device of a task that the runner has completed */
async function withRunner(call, server) {
  const { id: pcId, runnerToken } = await call('/api/pcs', { name: 'rack-1', slots: 1 });
  await call('/api/devices', { name: 'Phone 1', pcId });
  const { id: taskId } = await call('/api/tasks', { name: 'who', kind: 'WHO', targets: { all: true } });
  const folder = 'etc/muster-runner';
  writeFileSync(root.at(`${folder}/token`), `${runnerToken}\n`, { mode: 0o640 });
  root.run('chown', 'root:muster-runner', `/${folder}/token`);
  writeFileSync(root.at(`${folder}/script`), '#!/bin/sh\nid -un\n');
  chmodSync(root.at(`${folder}/script`), 0o755);
  appendFileSync(
    root.at(`${folder}/environment`),
    `MUSTER_SERVER=${server}\nMUSTER_PC=${pcId}\nMUSTER_EXEC=/${folder}/script\n`,
  );
  const runner = start('muster-runner.service');
  const ended = await until(async () => {
    const { taskDevices } = await call(`/api/tasks/${taskId}/devices`);
    return taskDevices?.find(
      (/** @type {any} */ one) => one.status === 'completed' || one.status === 'failed',
    );
  });
  is('the runner runs the script for a device', ended.status, 'completed');
  is('as its own user', (await call(`/api/task-devices/${ended.id}`)).result, 'muster-runner');
  is('the runner stops with exit code 0', await runner.stop(), 0);
  return ended.id;
}

/** @param {Call} call */
async function oneAction(call) {
  const { id } = await call('/api/lanes/printer-7/actions', { kind: 'print', payload: { copies: 2 } });
  await call('/api/lanes/printer-7/claim', { worker: 'desk' });
  await call(`/api/actions/${id}/report`, { attempt: 1, status: 'succeeded' });
  return (await call(`/api/actions/${id}`)).state;
}

/** @typedef {(route: string, body?: object) => Promise<any>} Call */

/** @param {string} server @param {string} token @returns {Call} */
function callerOf(server, token) {
  return async (route, body) => {
    const reply = await fetch(`${server}${route}`, {
      headers: { authorization: `Bearer ${token}`, ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { method: 'POST', body: JSON.stringify(body) } : {}),
    });
    const text = await reply.text();
    if (!reply.ok) throw new Error(`${route}: ${reply.status} ${text}`);
    return JSON.parse(text);
  };
}

/** @param {string} folder @param {string} of a version @returns the two packages */
function build(folder, of) {
  const out = path.join(scratch, folder);
  const args = ['scripts/package.mjs', '--fast', '--out', out, '--version', of];
  const { status } = spawnSync(process.execPath, args, { cwd: checkout, stdio: 'inherit' });
  if (status !== 0) process.exit(1);
  return readdirSync(out).map((name) => path.join(out, name));
}

/** @param {string[]} packages */
function install(packages) {
  for (const file of packages) spawnSync('cp', [file, root.at('tmp')]);
  const names = packages.map((file) => `/tmp/${path.basename(file)}`);
  const { output, status } = root.run('env', 'DEBIAN_FRONTEND=noninteractive', 'dpkg', '--install', ...names);
  if (status !== 0) throw new Error(output);
  for (const name of names) rmSync(root.at(name));
}

/** @param {string} name */
function start(name) {
  const one = root.startUnit(name);
  started.push(one);
  return one;
}

/** @param {string} server @param {{ hasEnded: boolean, output: string }} muster */
async function untilReady(server, muster) {
  const status = await until(async () => {
    if (muster.hasEnded) throw new Error(`The server ended: ${muster.output}`);
    return fetch(`${server}/readyz`).then(
      (reply) => reply.status,
      () => undefined,
    );
  });
  is('GET /readyz answers', status, 200);
}

/** @template T @param {() => Promise<T | undefined>} look */
async function until(look) {
  for (const end = Date.now() + PATIENCE_MS; Date.now() < end; await pause(100)) {
    const found = await look();
    if (found !== undefined) return found;
  }
  throw new Error('It did not happen within a minute.');
}

/** @param {string} file */
function modeOf(file) {
  return root.run('stat', '--format=%a %U:%G', file).output.trim();
}

/** @param {string} name */
function installedVersion(name) {
  return /^Version: (.*)$/m.exec(root.run('dpkg-query', '--status', name).output)?.[1];
}

/** @param {string} file */
function sha256(file) {
  return `${path.basename(file)} ${statSync(file).size} ${createHash('sha256').update(readFileSync(file)).digest('hex')}`;
}

/** @returns {Promise<number>} */
function freePort() {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const address = /** @type {import('node:net').AddressInfo} */ (probe.address());
      probe.close(() => resolve(address.port));
    });
  });
}

/** @param {string} sentence @param {unknown} found @param {unknown} wanted */
function is(sentence, found, wanted) {
  const fits = JSON.stringify(found) === JSON.stringify(wanted);
  if (!fits) failed += 1;
  console.log(
    fits ? `ok    ${sentence}` : `FAIL  ${sentence}: ${JSON.stringify(found)}, not ${JSON.stringify(wanted)}`,
  );
}
