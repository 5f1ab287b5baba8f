// How much of the machine was busy: a rate that leaves a core idle is limited by waiting, not by work.

import { readdirSync, readFileSync } from 'node:fs';
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

/** The returned function tells how many cores the whole machine and this process have used since. */
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

/** The returned function tells which share of the machine the host has given to others since; 0 if the system does not say. */
export function startStolen() {
  const before = stolenTicks();
  return () => {
    const after = stolenTicks();
    return after.all === before.all ? 0 : (after.stolen - before.stolen) / (after.all - before.all);
  };
}

function stolenTicks() {
  if (os.platform() !== 'linux') return { stolen: 0, all: 0 };
  const ticks =
    readFileSync('/proc/stat', 'utf8').split('\n', 1)[0]?.trim().split(/\s+/).slice(1, 9).map(Number) ?? [];
  return { stolen: ticks[7] ?? 0, all: ticks.reduce((sum, n) => sum + n, 0) };
}

/** From its state on: its parent is the second field. @param {number | string} pid */
function statOf(pid) {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number); // its name may have spaces
}

/**
 * The processor time of a process and all that it has started, those that have ended included, in milliseconds.
 * @param {number} pid
 */
export function cpuOfFamily(pid) {
  const tick = 10; // ms, of what the system keeps about ended children
  let ms = cpuOf([pid]);
  for (const name of readdirSync('/proc').filter((one) => /^\d+$/.test(one)))
    try {
      if (statOf(name)[1] === pid) ms += cpuOf([Number(name)]);
    } catch {
      // it has just ended
    }
  const own = statOf(pid);
  return ms + (Number(own[13]) + Number(own[14])) * tick;
}

/** The processor time of other processes with all their threads, in milliseconds; Linux has it to the nanosecond. @param {readonly number[]} pids */
export function cpuOf(pids) {
  let ns = 0;
  for (const pid of pids)
    for (const thread of readdirSync(`/proc/${pid}/task`))
      ns += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ', 1)[0]);
  return ns / 1e6;
}

/** The process whose children are the sessions of this database. @param {import('pg').Client} client */
export async function postmasterOf(client) {
  const { rows } = await client.query('select pg_backend_pid() as pid');
  return statOf(rows[0].pid)[1] ?? 0;
}
