import type { FakeApns } from '@muster/mdm/simulation';
import { createBoard } from './bots.ts';
import { callsTo } from './calls.ts';
import { createDevices } from './device.ts';
import { liveOn } from './everyday.ts';
import { playFirstMinute } from './first-minute.ts';
import { registerFleet } from './fleet.ts';
import { type Clock, playPast } from './past.ts';
import { hirePeople, type People } from './people.ts';
import { type FleetSize, planFleet } from './plan.ts';
import { createRunner } from './rack.ts';
import type { Receiver } from './receiver.ts';
import { Rhythm } from './rhythm.ts';
import { setUp } from './set-up.ts';
import { awaitedOf, type Stage } from './stage.ts';

export { FLEET, type FleetSize } from './plan.ts';
export { type Receiver, startReceiver } from './receiver.ts';

/** A fleet that uses a server by HTTP only, except for its clock. */
export interface DemoWish {
  readonly url: string;
  readonly admin: string;
  readonly size: FleetSize;
  readonly apns: FakeApns;
  readonly receiver: Receiver;
  readonly clock: Clock;
  /** The present: the past ends there, and live operation begins. */
  readonly until: () => Date;
  /** The demo is being stopped. */
  readonly signal: AbortSignal;
  tick(...duties: string[]): Promise<void>;
  onStep(what: string): void;
  /** An unexpected error: the server has refused a request of the fleet. */
  onFault(text: string): void;
}

export interface Demo {
  readonly people: People;
  /** What to look at first. */
  readonly tryThis: readonly string[];
  /** Faults since the start. */
  readonly faults: readonly string[];
  stop(): Promise<void>;
}

export async function playDemo(wish: DemoWish): Promise<Demo> {
  const { apns, clock, onStep, receiver, size, tick, url } = wish;
  const faults: string[] = [];
  const rhythm = new Rhythm((text) => {
    faults.push(text);
    wish.onFault(text);
  });
  const calls = callsTo(url, rhythm);
  const plan = planFleet(size);
  onStep('registering the fleet');
  const people = await hirePeople(calls, wish.admin);
  // the minute counts must know where to begin before anything happens
  await tick('count-minutes');
  const fleet = await registerFleet(calls, rhythm, { apns, operator: people.admin, plan, size });
  await setUp(calls, people, receiver, wish.until());
  const devices = createDevices(calls, rhythm, plan.random);
  const runners = fleet.racks.map((rack) => createRunner(calls, rhythm, plan.random(rack.name), rack));
  const stage: Stage = { calls, devices, fleet, people, plan, rhythm, runners, tick };
  onStep('playing the last hours');
  await playPast(stage, clock, wish.until, wish.signal);

  const board = createBoard(calls, rhythm, plan.random('board'), people.program);
  if (fleet.bots.length > 0) {
    await board.order(fleet.bots.length + 4, 'NORMAL');
    board.live(fleet.bots);
  }
  liveOn(stage);
  playFirstMinute(stage, (type) => board.order(1, type));
  const awaited = awaitedOf(stage);
  const [attentive] = fleet.devices;
  return {
    people,
    faults,
    tryThis: [
      ...(awaited ? [`Why does ${awaited.name} wait? ${url}/devices/${awaited.id}`] : []),
      `What caused the dead letters? ${url}/dead-letters`,
      ...(attentive
        ? [`Assign LOCK to ${attentive.name}, done in seconds: ${url}/devices/${attentive.id}`]
        : []),
    ],
    async stop() {
      await rhythm.stop();
      await fleet.stop();
    },
  };
}
