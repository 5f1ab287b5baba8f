import { setTimeout as pause } from 'node:timers/promises';
import { type Finding, finding } from '../../torture/finding.ts';
import type { Playing } from './part.ts';

/** Devices that check in, with the result of what they got at the last check-in. */
const DEVICES = 3;

export async function playCheckins(playing: Playing): Promise<Finding[]> {
  return (await Promise.all(Array.from({ length: DEVICES }, () => playDevice(playing)))).flat();
}

async function playDevice({ caller, isOver, random, token }: Playing): Promise<Finding[]> {
  const assigned: string[] = [];
  const done = new Set<string>();
  const name = `device ${random.next()}`;
  let made = await caller.once('POST', '/api/devices', { token, body: { name } });
  while (made?.status !== 201) made = await caller.once('POST', '/api/devices', { token, body: { name } });
  const { deviceToken, id } = made.body;
  let result: object | undefined;
  for (let n = 0; !isOver() || assigned.some((one) => !done.has(one)); n += 1) {
    if (!isOver()) {
      const body = { kind: 'LOCK' };
      const key = `device ${id} ${n}`;
      const said = await caller.surely('POST', `/api/devices/${id}/actions`, { token, body, key });
      if (said.status >= 300)
        throw new Error(`An action of a device was refused: ${JSON.stringify(said.body)}`);
      assigned.push(said.body.id);
    }
    const { body } = await caller.surely('POST', '/api/checkin', {
      token: deviceToken,
      body: result === undefined ? {} : { result },
    });
    if (result !== undefined && body.result?.accepted) done.add((result as { actionId: string }).actionId);
    result = body.action
      ? { actionId: body.action.id, attempt: body.action.attempt, status: 'done' }
      : undefined;
    await pause(random.int(50, 300));
  }
  const found: Finding[] = [];
  for (const one of assigned) {
    const { body } = await caller.surely('GET', `/api/actions/${one}`, { token });
    if (body.state !== 'succeeded')
      found.push(finding('G54', one, `action ${one} of device ${id} is ${body.state}, not succeeded`));
  }
  return found;
}
