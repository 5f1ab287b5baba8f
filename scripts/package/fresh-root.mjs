// A fresh Debian in a folder, and programs that run in it. Each has its own process and mount namespace, so nothing stays mounted
// or running, whatever happens; the network is that of this machine.

import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readEnvironmentFile, readUnit, wordsOf } from './unit-file.mjs';

const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/**
 * Made by debootstrap once, and copied for each run.
 * @param {string} suite such as bookworm
 */
export function freshRoot(suite) {
  const cache = path.join(tmpdir(), `muster-debian-${suite}`);
  if (!existsSync(cache)) {
    console.log(`Making ${cache}, once …`);
    const half = mkdtempSync(`${cache}-`);
    must('debootstrap', ['--variant=minbase', '--include=systemd', suite, half]);
    renameSync(half, cache);
  }
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-root-'));
  must('cp', ['--archive', '--reflink=auto', `${cache}/.`, folder]);
  return new FreshRoot(folder);
}

class FreshRoot {
  /** @param {string} folder */
  constructor(folder) {
    this.folder = folder;
  }

  /** @param {string} file */
  at(file) {
    return path.join(this.folder, file);
  }

  /**
   * The outcome of a program that root runs.
   * @param {string[]} command
   */
  run(...command) {
    const { status, stdout, stderr } = spawnSync(
      'unshare',
      this.#isolated([], ['env', '-i', `PATH=${PATH}`, ...command]),
      {
        encoding: 'utf8',
      },
    );
    return { status, output: `${stdout}${stderr}` };
  }

  /**
   * Starts what a unit says, as its user, with its settings, in its folders. Its sandbox and limits are not set: systemd is not running.
   * @param {string} name such as muster.service
   */
  startUnit(name) {
    const unit = readUnit(readFileSync(this.at(`usr/lib/systemd/system/${name}`), 'utf8'));
    const environment = readEnvironmentFile(readFileSync(this.at(unit('EnvironmentFile') ?? ''), 'utf8'));
    const user = unit('User') ?? 'root';
    const state = this.at(`var/lib/${unit('StateDirectory')}`);
    mkdirSync(state, { recursive: true });
    this.run('chown', `${user}:${unit('Group') ?? user}`, `/var/lib/${unit('StateDirectory')}`);
    this.run('chmod', unit('StateDirectoryMode') ?? '0755', `/var/lib/${unit('StateDirectory')}`);
    const variables = Object.entries(environment).map(([key, value]) => `${key}=${value}`);
    const words = wordsOf(unit('ExecStart') ?? '', environment);
    const script = `umask ${unit('UMask')} && cd '${unit('WorkingDirectory') ?? '/'}' && exec "$@"`;
    const inside = ['env', '-i', `PATH=${PATH}`, ...variables, 'sh', '-c', script, 'sh', ...words];
    const child = spawn('unshare', this.#isolated([`--userspec=${user}:${unit('Group') ?? user}`], inside), {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    return new Started(child, this.folder);
  }

  remove() {
    rmSync(this.folder, { force: true, recursive: true });
  }

  /** @param {string[]} options of chroot @param {string[]} command */
  #isolated(options, command) {
    const isolation = ['--mount', '--pid', '--fork', '--kill-child', `--mount-proc=${this.at('proc')}`];
    return [...isolation, 'chroot', ...options, this.folder, ...command];
  }
}

class Started {
  #output = '';
  /** @type {Promise<number | null>} */
  #ended;
  #child;

  /** @param {import('node:child_process').ChildProcessByStdio<null, import('node:stream').Readable, import('node:stream').Readable>} child @param {string} folder */
  constructor(child, folder) {
    this.#child = child;
    this.folder = folder;
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk) => {
        this.#output += chunk;
      });
    this.#ended = new Promise((resolve) => {
      child.on('close', resolve);
    });
  }

  get output() {
    return this.#output;
  }

  get hasEnded() {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** As systemd stops it. The exit code. */
  stop() {
    return this.#end('SIGTERM');
  }

  kill() {
    return this.#end('SIGKILL');
  }

  /**
   * The signal goes to the program itself, the first of its namespace, with which the others end: the kernel forgets
   * `--kill-child` when a program changes its user.
   * @param {NodeJS.Signals} signal
   */
  #end(signal) {
    const { pid } = this.#child;
    const inner = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
    if (inner === '') this.#child.kill(signal);
    else process.kill(Number(inner), signal);
    return this.#ended;
  }
}

/** @param {string} program @param {string[]} args */
function must(program, args) {
  const { error, status, stderr, stdout } = spawnSync(program, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${program} failed: ${error?.message ?? `${stdout}${stderr}`}`);
}
