import { gather, isTransaction } from '@muster/engine';
import type { Feature, Shell } from '../../../feature.ts';
import { isId } from '../../../http/ids.ts';
import { createLedger } from './ledger.ts';
import type { OnDead, OnMessage, Pushes } from './pushes.ts';

/** The push side of device management: `pushes` for those who have something for a device, and what the feature adds to itself. */
export interface PushPart extends Pick<Feature, 'routes'> {
  readonly pushes: Pushes;
  start(): Promise<void>;
  stop(): Promise<void>;
}

export function createPushPart({ db, engine }: Shell): PushPart {
  const ledger = createLedger(engine.schema, engine.now);
  const dead: OnDead[] = [];
  const messages: OnMessage[] = [];
  const seen = gather({
    name: 'push-seen',
    inFlightAtOnce: 1,
    deadlineMs: db.deadlineMs,
    async run(devices: readonly { tenantId: number; deviceId: string; want: string | null }[]) {
      await ledger.seen(db.gathered, devices);
      return devices.map(() => undefined);
    },
  });
  /** Nobody sends yet: what is wanted is kept. */
  const soon = (_tenantId: number) => {};

  const pushes: Pushes = {
    async tokenIs(tx, tenantId, deviceId, token) {
      await ledger.tokenIs(tx, tenantId, deviceId, token);
      if (isTransaction(tx)) tx.afterCommit(() => soon(tenantId));
    },
    async want(tx, tenantId, deviceIds) {
      if (deviceIds.length === 0) return;
      await ledger.want(tx, tenantId, deviceIds);
      if (isTransaction(tx)) tx.afterCommit(() => soon(tenantId));
      else soon(tenantId);
    },
    seen: (tenantId, deviceId, want) => seen({ tenantId, deviceId, want: want ?? null }),
    async forget(tx, tenantId, deviceId, what = 'mdm') {
      if (isId(deviceId)) await ledger.forget(tx, tenantId, deviceId, what);
    },
    onDead: (told) => void dead.push(told),
    async message() {
      throw new Error('Messages are not sent yet.');
    },
    onMessage: (told) => void messages.push(told),
    topicOf: async () => null,
  };
  return { pushes, routes: [], start: async () => {}, stop: async () => {} };
}

export type { DeadReason, MessageOutcome, OnDead, OnMessage, Pushes, PushToken } from './pushes.ts';
