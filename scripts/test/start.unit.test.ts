// Runs the real start.mjs in a small checkout with fakes for npm, the compiler and the server.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';

const scripts = path.resolve(import.meta.dirname, '..');
const lock = JSON.stringify({ packages: { 'node_modules/a': { version: '1.0.0' } } });

const npm = `
const { appendFileSync, mkdirSync, writeFileSync } = require('node:fs');
appendFileSync('npm.log', process.argv.slice(2).join(' ') + '\\n');
mkdirSync('node_modules/typescript/bin', { recursive: true });
writeFileSync('node_modules/typescript/package.json', '{}');
writeFileSync('node_modules/typescript/bin/tsc', process.env.FAKE_TSC);
writeFileSync('node_modules/.package-lock.json', ${JSON.stringify(lock)});
`;
const server = `
const heard = [];
const end = () => { console.log('heard ' + heard.join(' ')); process.exit(7); };
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, () => { heard.push(signal); setTimeout(end, 300); });
}
console.log('serving ' + process.argv.slice(2).join(' '));
setInterval(() => {}, 1000);
`;

function checkout(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-start-'));
  onTestFinished(() => rmSync(folder, { force: true, recursive: true }));
  mkdirSync(path.join(folder, 'apps/server/bin'), { recursive: true });
  mkdirSync(path.join(folder, 'scripts'));
  for (const file of ['start.mjs', 'become.mjs', 'install.mjs', 'console.mjs'])
    cpSync(path.join(scripts, file), path.join(folder, 'scripts', file));
  writeFileSync(
    path.join(folder, 'package.json'),
    '{ "engines": { "node": ">=20.19" }, "scripts": { "start": "exec node scripts/start.mjs" } }',
  );
  writeFileSync(path.join(folder, 'package-lock.json'), lock);
  writeFileSync(path.join(folder, 'npm-cli.js'), npm);
  writeFileSync(path.join(folder, 'apps/server/bin/muster.js'), server);
  return folder;
}

async function start(folder: string, { args = [] as string[], tsc = '' } = {}): Promise<ChildProcess> {
  const child = spawn(process.execPath, ['scripts/start.mjs', ...args], {
    cwd: folder,
    env: { ...process.env, FAKE_TSC: tsc, npm_execpath: path.join(folder, 'npm-cli.js') },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

/** All output until the end, and the exit code; calls onServing when the server is up. */
async function outcome(child: ChildProcess, onServing: () => void) {
  if (child.stdout === null || child.stderr === null) throw new Error('no pipes');
  let printed = '';
  child.stdout.on('data', (chunk) => {
    const before = printed.includes('serving');
    printed += chunk;
    if (!before && printed.includes('serving')) onServing();
  });
  const [errors, [code]] = await Promise.all([text(child.stderr), once(child, 'close')]);
  return { code, errors, printed };
}

test('the first start installs and the second does not', async () => {
  const folder = checkout();
  const tsc = `console.log('TSFILE: dist/main.js')`;
  for (const wanted of ['Installing packages (npm ci) …\n', '']) {
    const child = await start(folder, { args: ['--port', '0'], tsc });
    const { code, errors, printed } = await outcome(child, () => child.kill('SIGTERM'));
    expect(errors).toBe('');
    expect(printed.replace(/\d+\.\d s/, '0.0 s')).toBe(
      `${wanted}Building what has changed …\nBuilt in 0.0 s.\nserving serve --port 0\nheard SIGTERM\n`,
    );
    expect(code).toBe(7);
  }
  expect(readFileSync(path.join(folder, 'npm.log'), 'utf8')).toBe(
    'ci --include=dev --no-audit --no-fund --loglevel=error\n',
  );
});

test('a build without changes prints only that it begins', async () => {
  const child = await start(checkout());
  const { printed } = await outcome(child, () => child.kill('SIGTERM'));
  expect(printed).toBe(
    'Installing packages (npm ci) …\nBuilding what has changed …\nserving serve\nheard SIGTERM\n',
  );
});

/** As users start it: the real npm, in its own process group, with a checkout that needs no install. */
async function npmStart(): Promise<{ npm: ChildProcess; ended: Promise<string> }> {
  const folder = checkout();
  const first = await start(folder);
  await outcome(first, () => first.kill('SIGKILL')); // installs
  const npm = spawn('npm', ['start', '--silent'], {
    cwd: folder,
    detached: true,
    env: { ...process.env, npm_execpath: undefined, npm_lifecycle_event: undefined },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => {
    try {
      process.kill(-(npm.pid as number), 'SIGKILL');
    } catch {} // no process is left, as it should be
  });
  if (npm.stdout === null) throw new Error('no pipe');
  let printed = '';
  const serving = new Promise<void>((resolve) => {
    npm.stdout?.on('data', (chunk) => {
      printed += chunk;
      if (printed.includes('serving')) resolve();
    });
  });
  // the server has this pipe too: it ends when the last process does
  const ended = once(npm.stdout, 'end').then(() => printed);
  await Promise.race([serving, ended]);
  expect(printed).toBe('Building what has changed …\nserving serve\n');
  return { npm, ended };
}

test('killing the process group leaves nothing behind', async () => {
  const { npm, ended } = await npmStart();
  process.kill(-(npm.pid as number), 'SIGKILL');
  expect(await ended).toBe('Building what has changed …\nserving serve\n');
});

test('when npm alone is killed, the server stops by itself', async () => {
  const { npm, ended } = await npmStart();
  npm.kill('SIGKILL');
  expect(await ended).toBe('Building what has changed …\nserving serve\nheard SIGTERM\n');
});

test('npm forwards SIGTERM and ends with the exit code of the server', async () => {
  const { npm, ended } = await npmStart();
  npm.kill('SIGTERM');
  expect(await ended).toBe('Building what has changed …\nserving serve\nheard SIGTERM\n');
  if (npm.exitCode === null) await once(npm, 'exit');
  expect(npm.exitCode).toBe(7);
});

test('a failed build prints the output of the compiler and starts no server', async () => {
  const child = await start(checkout(), { tsc: `console.log('a.ts(1,1): error'); process.exit(2)` });
  const { code, errors, printed } = await outcome(child, () => child.kill('SIGKILL'));
  expect(errors).toBe('a.ts(1,1): error\nThe build failed, so the server was not started.\n');
  expect(printed).not.toContain('serving');
  expect(code).toBe(1);
});

test('a failed install ends the start', async () => {
  const folder = checkout();
  writeFileSync(path.join(folder, 'npm-cli.js'), 'process.exit(3)');
  const child = await start(folder);
  const { code, errors } = await outcome(child, () => child.kill('SIGKILL'));
  expect(errors).toBe('npm ci failed.\n');
  expect(code).toBe(1);
  expect(existsSync(path.join(folder, 'node_modules'))).toBe(false);
});
