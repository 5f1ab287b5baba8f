// Finds HAProxy, which distributions install off the PATH of users. `.ci/run` installs it if it is missing.

import { spawnSync } from 'node:child_process';

const KNOWN = ['haproxy', '/usr/sbin/haproxy', '/usr/local/sbin/haproxy'];

export function findHaproxy() {
  return KNOWN.find((program) => spawnSync(program, ['-v']).status === 0);
}
