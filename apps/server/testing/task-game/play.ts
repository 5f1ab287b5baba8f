import { checkInstallation, type Database } from '@muster/engine';
import { brokenInvariants, type Sabotage } from '@muster/engine/testing';
import { Random } from '../torture/random.ts';
import { type GameHouse, gameHouse } from './house.ts';
import { activeTaskId, brokenNow, pcFacts, starved } from './invariants.ts';

/**
 * Random tasks, PCs, devices, completions, failures, timeouts, cancels, moves and crashes, over HTTP; after every step all
 * invariants are checked. Returns what was wrong, or nothing once every task has ended.
 */
interface Pc {
  readonly id: string;
  readonly token: string;
}
interface Device {
  readonly id: string;
  readonly token: string;
  action: { id: string; attempt: number } | null;
}
interface Held {
  readonly id: string;
  readonly taskId: string;
  readonly deviceId: string;
  readonly attempt: number;
  readonly pc: Pc;
}

const MINUTE = 60_000;
const TAGS = ['red', 'blue'];

export async function playTasks(
  inner: Database,
  options: { seed: number; steps: number; by?: Sabotage },
): Promise<string[]> {
  const die = dieOf(new Random(String(options.seed)));
  const house = await gameHouse(inner, options.by ?? {});
  const game = createGame(inner, house, die);
  try {
    await game.begin();
    for (let step = 0; step < options.steps; step += 1) {
      const what = await game.step();
      const wrong = [...game.wrong, ...(await brokenNow(inner))];
      if (wrong.length > 0) return [`Step ${step} (${what}) of seed ${options.seed}:`, ...wrong];
    }
    return await game.finish();
  } finally {
    await house.stop();
  }
}

/** A whole number from 0 to below `n`, or one of a list. */
const dieOf = (random: Random) => ({
  below: (n: number) => random.int(0, n - 1),
  of: <T>(list: readonly T[]) => random.pick(list),
});
type Die = ReturnType<typeof dieOf>;

function createGame(inner: Database, house: GameHouse, die: Die) {
  const pcs: Pc[] = [];
  const devices: Device[] = [];
  const deleted = new Set<string>();
  const tasks: string[] = [];
  let held: Held[] = [];
  const wrong: string[] = [];
  let made = 0;

  async function newPc(): Promise<void> {
    made += 1;
    const answer = await house.call('POST', '/api/pcs', { name: `pc ${made}`, slots: 1 + die.below(4) });
    if (answer?.status === 201) pcs.push({ id: answer.body.id, token: answer.body.runnerToken });
  }

  async function newDevice(): Promise<void> {
    made += 1;
    const pcId = die.below(8) === 0 ? undefined : die.of(pcs).id;
    const answer = await house.call('POST', '/api/devices', {
      name: `device ${made}`,
      tags: [die.of(TAGS)],
      ...(pcId === undefined ? {} : { pcId }),
    });
    if (answer?.status === 201)
      devices.push({ id: answer.body.id, token: answer.body.deviceToken, action: null });
  }

  async function newTask(): Promise<void> {
    const some = devices.filter(({ id }) => !deleted.has(id) && die.below(2) === 0).map(({ id }) => id);
    const targets = die.of<object>([
      { all: true },
      { tags: [die.of(TAGS)] },
      { pcIds: [die.of(pcs).id] },
      some.length > 0 ? { deviceIds: some } : { tags: ['nobody'] },
    ]);
    const answer = await house.call('POST', '/api/tasks', {
      name: 'game',
      kind: 'PLAY',
      targets,
      maxAttempts: 1 + die.below(3),
      retryBackoffSeconds: die.of([0, 0, 60]),
      ...(die.below(8) === 0
        ? { deadline: new Date(house.clock().getTime() + 30 * MINUTE).toISOString() }
        : {}),
    });
    if (answer?.status === 201) tasks.push(answer.body.id);
  }

  /** The claimed devices are checked against the tables right after the claim. */
  async function took(pc: Pc, body: { taskDevices?: Omit<Held, 'pc'>[] } | undefined): Promise<void> {
    const got = body?.taskDevices ?? [];
    if (got.length === 0) return;
    held.push(...got.map((one) => ({ ...one, pc })));
    const active = await activeTaskId(inner);
    for (const one of got)
      if (one.taskId !== active)
        wrong.push(`Task ${one.taskId} was handed out, but task ${active} is the active one.`);
    const { running, target } = await pcFacts(inner, pc.id);
    if (running > target)
      wrong.push(`A claim of PC ${pc.id} led to ${running} running; its target is ${target}.`);
    const { rows } = await inner.query({
      text: `select device_id from muster.devices where tenant_id = 1 and state = 'error' and device_id = any($1::bigint[])`,
      values: [got.map(({ deviceId }) => deviceId)],
    });
    for (const row of rows) wrong.push(`Device ${row.device_id} is in error and was handed out.`);
  }

  const claim = (pc: Pc, max?: number) =>
    house.call('POST', `/api/pcs/${pc.id}/claim`, max === undefined ? {} : { max }, pc.token);

  async function claimOnce(): Promise<void> {
    const pc = die.of(pcs);
    const max = die.of([undefined, undefined, 1, 2]);
    await took(pc, (await claim(pc, max))?.body);
    if (max === undefined && !house.crash.dead) wrong.push(...(await starved(inner, pc.id, house.clock())));
  }

  async function claimTwice(): Promise<void> {
    const pc = die.of(pcs);
    const answers = await Promise.all([claim(pc), claim(pc), claim(pc, 1)]);
    for (const answer of answers) await took(pc, answer?.body);
  }

  /** They share a transaction. */
  async function claimAll(): Promise<void> {
    const answers = await Promise.all(pcs.map((pc) => claim(pc, die.of([undefined, 1, 3]))));
    for (const [n, pc] of [...pcs].entries()) await took(pc, answers[n]?.body);
  }

  async function report(): Promise<void> {
    if (held.length === 0) return claimOnce();
    const one = die.of(held);
    const what = die.of(['complete', 'complete', 'complete', 'fail', 'fail', 'ack', 'heartbeat']);
    const ends = what === 'complete' || what === 'fail';
    const answer = await house.call(
      'POST',
      `/api/task-devices/${one.id}/${what}`,
      {
        attempt: one.attempt,
        ...(what === 'fail' ? { error: 'lost the game' } : {}),
        ...(ends && die.below(2) === 0 ? { claim: { max: 1 + die.below(5) } } : {}),
      },
      one.pc.token,
    );
    if (!answer) return; // it may have counted: it stays, and is reported once more
    if (ends) held = held.filter((other) => other !== one);
    if (answer.status !== 200) return;
    if (answer.body.accepted && answer.body.status === 'failed') await mustBeInError(one.deviceId);
    await took(one.pc, answer.body);
  }

  async function mustBeInError(deviceId: string): Promise<void> {
    const { rows } = await inner.query({
      text: `select state from muster.devices where tenant_id = 1 and device_id = $1 and deleted_at is null`,
      values: [deviceId],
    });
    if (rows[0] && rows[0].state !== 'error')
      wrong.push(`Device ${deviceId} has failed for good and is not in error.`);
  }

  async function checkIn(): Promise<void> {
    const device = die.of(devices);
    if (!device.action) await house.call('POST', `/api/devices/${device.id}/actions`, { kind: 'LOCK' });
    const { action } = device;
    const answer = await house.call(
      'POST',
      '/api/checkin',
      action
        ? { result: { actionId: action.id, attempt: action.attempt, status: die.of(['done', 'failed']) } }
        : {},
      device.token,
    );
    if (answer?.status === 200) device.action = answer.body.action;
  }

  async function changeDevice(): Promise<void> {
    const { id } = die.of(devices);
    switch (die.below(12)) {
      case 0:
        deleted.add(id);
        await house.call('DELETE', `/api/devices/${id}`);
        return;
      case 1:
      case 2:
        await house.call('PATCH', `/api/devices/${id}`, { pcId: null });
        return;
      case 3:
      case 4:
      case 5:
      case 6:
        await house.call('POST', `/api/devices/${id}/clear-error`, {});
        return;
      default:
        await house.call('PATCH', `/api/devices/${id}`, { pcId: die.of(pcs).id });
    }
  }

  async function changePc(): Promise<void> {
    const pc = die.of(pcs);
    if (die.below(2) === 0) await house.call('PATCH', `/api/pcs/${pc.id}`, { slots: 1 + die.below(5) });
    else {
      const said = devices
        .filter(() => die.below(2) === 0)
        .map(({ id }) => ({ id, present: die.below(4) > 0 }));
      await house.call('PUT', `/api/pcs/${pc.id}/devices`, { devices: said }, pc.token);
    }
  }

  async function cancelTask(): Promise<void> {
    if (tasks.length > 0) await house.call('POST', `/api/tasks/${die.of(tasks)}/cancel`, {});
  }

  async function redrive(): Promise<void> {
    const answer = await house.call('GET', '/api/actions?state=failed&limit=5');
    const failed: { id: string }[] = answer?.body.actions ?? [];
    if (failed.length > 0) await house.call('POST', `/api/actions/${die.of(failed).id}/redrive`, {});
  }

  /** The server dies somewhere in one of the next requests. */
  async function crash(): Promise<void> {
    if (die.below(2) === 0) house.crash.dieAfterCommit();
    else house.crash.dieAtStatement(1 + die.below(25));
  }

  const STEPS: readonly [weight: number, name: string, run: () => Promise<void>][] = [
    [24, 'claim', claimOnce],
    [6, 'claim twice', claimTwice],
    [6, 'all claim', claimAll],
    [34, 'report', report],
    [4, 'new task', newTask],
    [8, 'check in', checkIn],
    [9, 'change device', changeDevice],
    [3, 'change PC', changePc],
    [2, 'new device', newDevice],
    [1, 'new PC', newPc],
    [2, 'cancel task', cancelTask],
    [1, 'redrive', redrive],
    [4, 'a minute', () => house.pass(MINUTE)],
    [3, 'twenty minutes', () => house.pass(20 * MINUTE)],
    [3, 'crash', crash],
  ];
  const total = STEPS.reduce((sum, [weight]) => sum + weight, 0);

  return {
    wrong,

    async begin(): Promise<void> {
      for (let n = 0; n < 3; n += 1) await newPc();
      for (let n = 0; n < 14; n += 1) await newDevice();
      for (let n = 0; n < 2; n += 1) await newTask();
    },

    async step(): Promise<string> {
      let at = die.below(total);
      const [, name, run] = STEPS.find(([weight]) => {
        at -= weight;
        return at < 0;
      }) as (typeof STEPS)[number];
      await run();
      if (house.crash.dead) await house.restart();
      return name;
    },

    /** Nothing is stuck: runners that do their work finish every task. */
    async finish(): Promise<string[]> {
      house.crash.revive();
      for (let round = 0; round < 400; round += 1) {
        const { body } = (await house.call('GET', '/api/tasks?limit=500')) ?? { body: { tasks: [] } };
        if (body.tasks.every((task: { endedAt: string | null }) => task.endedAt !== null)) break;
        if (round === 399) return [`Not all tasks have ended: ${JSON.stringify(body.tasks)}`];
        for (const pc of pcs) await took(pc, (await claim(pc))?.body);
        for (const one of held.splice(0))
          await house.call(
            'POST',
            `/api/task-devices/${one.id}/complete`,
            { attempt: one.attempt },
            one.pc.token,
          );
        await house.pass(round % 4 === 3 ? 20 * MINUTE : MINUTE);
      }
      const violations: string[] = [];
      // numbers of events do not fit into a JSON number
      const written = (_: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value);
      await checkInstallation(inner, {
        onViolation: (found) => void violations.push(JSON.stringify(found, written)),
      });
      return [...wrong, ...(await brokenNow(inner)), ...(await brokenInvariants(inner)), ...violations];
    },
  };
}
