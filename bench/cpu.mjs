// How much of the machine was busy: a rate that leaves a core idle is limited by waiting, not by work.

import os from 'node:os';

function cpuTimes() {
  let busy = 0;
  let all = 0;
  for (const { times } of os.cpus()) {
    busy += times.user + times.nice + times.sys + times.irq;
    all += times.user + times.nice + times.sys + times.irq + times.idle;
  }
  return { busy, all };
}

/**
 * @param {{ busy: number, all: number }} before
 * @param {{ busy: number, all: number }} after
 */
function busyCores(before, after) {
  const all = after.all - before.all;
  return all === 0 ? 0 : ((after.busy - before.busy) / all) * os.cpus().length;
}

/** Says, when called, how many cores the whole machine and this process used since. */
export function startUsage() {
  const machine = cpuTimes();
  const own = process.cpuUsage();
  const began = performance.now();
  return () => {
    const { user, system } = process.cpuUsage(own);
    return {
      busyCores: busyCores(machine, cpuTimes()),
      nodeCores: (user + system) / 1_000 / (performance.now() - began),
    };
  };
}
