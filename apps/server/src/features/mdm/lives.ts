import type { Engine, Queryable } from '@muster/engine';
import type { CommandCache } from './commands/cache.ts';
import type { PhoneEvent } from './events.ts';
import type { Phones } from './phones.ts';
import type { Pushes } from './push/index.ts';

interface Tools {
  readonly commands: CommandCache;
  readonly engine: Pick<Engine, 'laneLoads' | 'now'>;
  readonly phones: Phones;
  readonly pushes: Pushes;
}

interface Living {
  readonly udid: string;
  readonly laneId: string;
}

/**
 * A phone that begins a new life must get nothing of the old one. The unfinished actions of its lane are ended by the
 * subscriber of its events, in their order, which may be late. So the phone's row says which generation of the lane it
 * waits for, and until then nothing of the lane is handed out, taken or queued for it. Leaving raises the generation
 * too: a phone that left and came back waits for both, or the second would end actions queued in between.
 */
export function createLives({ commands, engine, phones, pushes }: Tools) {
  async function generationOf(client: Queryable, tenantId: number, laneId: string): Promise<number> {
    const [load] = await engine.laneLoads(client, [{ tenantId, laneId }], 1);
    return load?.generation ?? 0;
  }

  /** For a phone whose row is locked, so its waiting cannot end meanwhile. */
  async function awaitNext(tx: Queryable, tenantId: number, { udid, laneId }: Living): Promise<void> {
    await phones.awaitNext(tx, tenantId, udid, await generationOf(tx, tenantId, laneId));
  }

  return {
    /** The phone leaves: everything that waits for it ends. Returns the events, once, for the same transaction. */
    async leave(tx: Queryable, tenantId: number, udid: string): Promise<PhoneEvent[]> {
      const phone = await phones.lock(tx, tenantId, udid);
      if (!phone || phone.releasedAt !== null) return [];
      await commands.closeAll(tx, tenantId, udid);
      await phones.change(tx, tenantId, udid, { releasedAt: engine.now() });
      await awaitNext(tx, tenantId, phone);
      await pushes.forget(tx, tenantId, phone.deviceId);
      return [{ type: 'DEVICE_RELEASED', udid }];
    },

    /** In the transaction that publishes the new life. */
    async begin(tx: Queryable, tenantId: number, phone: Living): Promise<void> {
      await commands.closeAll(tx, tenantId, phone.udid, ['bus', 'lane', 'own']);
      await awaitNext(tx, tenantId, phone);
    },

    /** Whether the old life has ended in its lane; reads only until it has. */
    async isBegun(
      client: Queryable,
      tenantId: number,
      phone: Living & { awaitedGeneration: number | null },
    ): Promise<boolean> {
      const { awaitedGeneration, laneId, udid } = phone;
      if (awaitedGeneration === null) return true;
      if ((await generationOf(client, tenantId, laneId)) < awaitedGeneration) return false;
      await phones.endAwaiting(client, tenantId, udid, awaitedGeneration);
      return true;
    },
  };
}

export type Lives = ReturnType<typeof createLives>;
