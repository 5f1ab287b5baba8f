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

/** A fleet that plays against a server: knows it by HTTP only, but for its clock. */
export interface DemoWish {
  readonly url: string;
  readonly admin: string;
  readonly size: FleetSize;
  readonly apns: FakeApns;
  readonly receiver: Receiver;
  readonly clock: Clock;
  /** The present: the past ends there, and life begins. */
  readonly until: () => Date;
  /** Nobody waits for it any more. */
  readonly signal: AbortSignal;
  tick(...duties: string[]): Promise<void>;
  onStep(what: string): void;
  /** Something that should not have happened: the server has refused the fleet something. */
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
  // before it counts, it must know where to begin
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
      `How many causes have the dead letters? ${url}/dead-letters`,
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
