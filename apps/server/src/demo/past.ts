import { atOnce } from './at-once.ts';
import type { SimulatedDevice } from './device.ts';
import { INCIDENTS } from './incidents.ts';
import type { Random } from './random.ts';
import { type Stage, withMind } from './stage.ts';
import { KINDS, workOf } from './work.ts';

/**
 * Simulates some hours of history in seconds: the server's clock lies behind and is moved forward, step by step. The
 * history is real: actions are queued, handed out and reported by the same requests as later, and charts and lists show
 * it as it happened.
 */
export interface Clock {
  now(): Date;
  /** Never backwards. */
  setOn(at: Date): void;
}

const MINUTE_MS = 60_000;
const QUARTER_MS = 15 * MINUTE_MS;
const FINE_MS = 60 * MINUTE_MS;

const asItWas = () => 0;

export async function playPast(
  stage: Stage,
  clock: Clock,
  present: () => Date,
  signal: AbortSignal,
): Promise<void> {
  const random = stage.plan.random('past');
  const turn = new Turn();
  const until = present();
  const left = [...INCIDENTS];
  for (const at of stepsBetween(clock.now(), until)) {
    signal.throwIfAborted();
    clock.setOn(at);
    const ago = until.getTime() - at.getTime();
    while (left[0] && left[0].agoMs >= ago) await left.shift()?.happen(stage);
    await usualWork(
      stage,
      { random, turn },
      ago < FINE_MS ? { devices: 1, racks: 2 } : { devices: 2, racks: 1 },
    );
    if (at.getTime() % QUARTER_MS === 0) await showroom(stage);
    await stage.tick('count-minutes');
  }
  // the present time, not that of the start
  clock.setOn(present());
  for (const { happen } of left) await happen(stage);
  await stage.tick('finish-batches', 'count-minutes');
}

/** Quarters of an hour, and minutes in the last one. */
function stepsBetween(from: Date, until: Date): Date[] {
  const steps: Date[] = [];
  const end = until.getTime();
  let at = Math.ceil(from.getTime() / QUARTER_MS) * QUARTER_MS;
  while (at < end) {
    steps.push(new Date(at));
    at += end - at > FINE_MS ? QUARTER_MS : MINUTE_MS;
  }
  return steps;
}

/** Devices of workflows that run every quarter of an hour. */
async function showroom(stage: Stage): Promise<void> {
  await stage.tick('begin-workflow-runs', 'supply-workflow-runs');
  await atOnce(withMind(stage, 'attentive'), (device) => stage.devices.visit(device, asItWas));
}

async function usualWork(
  stage: Stage,
  { random, turn }: { readonly random: Random; readonly turn: Turn },
  times: { readonly devices: number; readonly racks: number },
): Promise<void> {
  const { calls, devices, people, runners } = stage;
  const some = withMind(stage, 'ordinary', 'stuttering');
  const count = Math.min(some.length, Math.round(random.between(6, 18)) * times.devices);
  const wishes = Array.from({ length: count }, () => ({
    device: random.pick(some),
    body: workOf(random.pick(KINDS), random),
  }));
  const call = calls.as(people.program);
  await atOnce(wishes, ({ body, device: { id } }) =>
    calls.client.checkin.assign({ ...call, params: { id }, body }),
  );
  const come = new Set<SimulatedDevice>(wishes.map(({ device }) => device));
  await atOnce([...come], (device) => devices.visit(device, asItWas));
  if (runners.length === 0) return;
  // one after the other, so a task can end: by chance, some PC would be left out for hours
  const atWork = Array.from({ length: Math.min(times.racks, runners.length) }, () => turn.next(runners));
  await Promise.all(atWork.map((runner) => runner.work()));
  await keepTasksInLine(stage, random);
}

/** Takes turns. */
class Turn {
  #at = 0;

  next<T>(all: readonly T[]): T {
    const one = all[this.#at % all.length] as T;
    this.#at += 1;
    return one;
  }
}

/** One active and this many waiting: more would only pile up, because one is active at a time. */
const TASKS_IN_LINE = 2;

export async function keepTasksInLine(stage: Stage, random: Random): Promise<void> {
  const { calls, people } = stage;
  const { body } = await calls.client.tasks.list({
    ...calls.as(people.ana),
    query: { status: 'pending', limit: TASKS_IN_LINE },
  });
  if (body.tasks.length < TASKS_IN_LINE) await newTask(stage, random.pick(TASKS));
}

const TASKS = ['battery test', 'wipe caches', 'collect logs', 'firmware 3.2', 'burn-in, short'];

async function newTask({ calls, fleet, people }: Stage, name: string): Promise<void> {
  await calls.client.tasks.create({
    ...calls.as(people.ana),
    body: {
      name,
      kind: name.split(/[ ,]/)[0]?.toUpperCase() ?? 'TASK',
      payload: { image: 'https://updates.example/lab.img', apiKey: 'lab-4711' },
      targets: { pcIds: fleet.racks.map(({ id }) => id) },
      timeoutSeconds: 120,
      maxAttempts: 3,
      retryBackoffSeconds: 5,
    },
  });
}
