import type { Engine, Queryable } from '@muster/engine';
import type { ChannelContacts } from '../contacts/contacts.ts';
import type { Tokens } from '../tokens/tokens.ts';
import { DEVICE_SPACE, type DeviceOf } from './device-token.ts';
import { deviceError } from './errors.ts';
import type { MilestoneLog } from './milestone-log.ts';
import type { Pcs } from './pcs.ts';
import type { DeviceQueries, KnownDevice } from './queries.ts';

/**
 * Registers devices, issues their tokens, enrols them again, removes them. Everything is in the caller's transaction
 * and set-based: the single device of a request and the thousand of an import take the same path.
 */
export interface Registration {
  readonly name: string;
  readonly externalId?: string | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly expiresAt?: Date | undefined;
  readonly pcId?: string | undefined;
  readonly ack?: 'onReport' | 'onDelivery' | undefined;
  /** The hash of a token that the device already has. */
  readonly tokenSha256?: Buffer | undefined;
}

export type Registered =
  | { readonly deviceId: string; readonly existed: boolean; readonly deviceToken: string | null }
  | { readonly refused: 'EXISTS' | 'RACED' | 'TOKEN_TAKEN' | 'UNKNOWN_PC' };

type Refusal = Extract<Registered, { refused: string }>['refused'];

interface Place {
  readonly deviceId: string;
  readonly laneId: string;
  readonly existed: boolean;
}

export interface RegisterOptions {
  readonly tenantId: number;
  readonly by: string | null;
  /** What to do with a known external id. */
  readonly known: 'refuse' | 'update';
}

type Forget = (client: Queryable, tenantId: number, deviceId: string) => Promise<void>;

export type Registry = ReturnType<typeof createRegistry>;

export function createRegistry(tools: {
  contacts: ChannelContacts;
  engine: Engine;
  log: MilestoneLog;
  pcs: Pcs;
  queries: DeviceQueries;
  tokens: Tokens;
}) {
  const { contacts, engine, log, pcs, queries, tokens } = tools;
  const onRemoved: Forget[] = [];

  /** Adds the new ones. An external id taken by a concurrent transaction yields no device. */
  async function insert(
    client: Queryable,
    tenantId: number,
    rows: readonly Registration[],
  ): Promise<(Place | null)[]> {
    if (rows.length === 0) return [];
    const ids = await queries.newIds(client, rows.length);
    const lanes = await engine.ensureLanes(client, tenantId, DEVICE_SPACE, ids);
    const added = await queries.insertMany(
      client,
      tenantId,
      rows.map((row, n) => ({
        deviceId: ids[n] as string,
        laneId: lanes[n] as string,
        name: row.name,
        externalId: row.externalId ?? null,
        tags: [...new Set(row.tags ?? [])],
        expiresAt: row.expiresAt ?? null,
        pcId: row.pcId ?? null,
        ack: row.ack ?? 'onReport',
      })),
    );
    return ids.map((deviceId, n) =>
      added.has(deviceId) ? { deviceId, laneId: lanes[n] as string, existed: false } : null,
    );
  }

  /** New tokens; for an existing device, the old one stays valid until the new one is used. */
  async function issueTokens(
    client: Queryable,
    options: RegisterOptions,
    rows: readonly { place: Place; registration: Registration }[],
  ) {
    const { tenantId, by } = options;
    const old = rows.filter(({ place }) => place.existed).map(({ place }) => place);
    const generations = new Map<string, number>();
    const newest = new Map<string, string>();
    if (old.length > 0) {
      for (const load of await engine.laneLoads(
        client,
        old.map(({ laneId }) => ({ tenantId, laneId })),
        1,
      ))
        generations.set(load.laneId, load.generation);
      const known = await tokens.idsOf(
        client,
        tenantId,
        'device',
        old.map(({ deviceId }) => deviceId),
      );
      for (const { tokenId, owner } of known) if (!newest.has(owner)) newest.set(owner, tokenId);
    }
    return tokens.createMany(
      client,
      tenantId,
      rows.map(({ place, registration }) => ({
        kind: 'device' as const,
        owner: place.deviceId,
        name: `device ${place.deviceId}`,
        restriction: {
          deviceId: place.deviceId,
          laneId: place.laneId,
          generation: generations.get(place.laneId) ?? 1,
        } satisfies DeviceOf,
        createdBy: by,
        sha256: registration.tokenSha256,
        replaces: newest.get(place.deviceId) ?? null,
      })),
    );
  }

  /** Hashes that belong to another device, that were this device's and are revoked, or that occur twice. */
  async function takenHashes(
    client: Queryable,
    tenantId: number,
    rows: readonly Registration[],
    known: ReadonlyMap<string, { deviceId: string }>,
  ): Promise<Set<Registration>> {
    const taken = new Set<Registration>();
    const byHash = new Map<string, Registration>();
    for (const row of rows) {
      if (!row.tokenSha256) continue;
      const hash = row.tokenSha256.toString('latin1');
      if (byHash.has(hash)) taken.add(row);
      else byHash.set(hash, row);
    }
    if (byHash.size === 0) return taken;
    const hashes = [...byHash.values()].flatMap((row) => row.tokenSha256 ?? []);
    for (const token of await tokens.withHashes(client, tenantId, hashes)) {
      const row = byHash.get(token.sha256.toString('latin1')) as Registration;
      const own = row.externalId === undefined ? undefined : known.get(row.externalId)?.deviceId;
      if (token.kind !== 'device' || token.revokedAt !== null || own === undefined || own !== token.owner)
        taken.add(row);
    }
    return taken;
  }

  return {
    /** One answer per row, in order. Callers must not pass equal external ids in one call. */
    async register(
      client: Queryable,
      options: RegisterOptions,
      rows: readonly Registration[],
    ): Promise<Registered[]> {
      const { tenantId, by } = options;
      const externalIds = rows.flatMap((row) => row.externalId ?? []);
      const known =
        externalIds.length > 0
          ? await queries.lockByExternalId(client, tenantId, externalIds)
          : new Map<string, KnownDevice>();
      const runners = await pcs.runnersOf(
        client,
        tenantId,
        rows.flatMap((row) => row.pcId ?? []),
      );
      const taken = await takenHashes(client, tenantId, rows, known);
      const places: (Place | Refusal)[] = rows.map((row) => {
        if (row.pcId !== undefined && !runners.has(row.pcId)) return 'UNKNOWN_PC';
        if (taken.has(row)) return 'TOKEN_TAKEN';
        const found = row.externalId === undefined ? undefined : known.get(row.externalId);
        if (!found) return 'RACED';
        return options.known === 'refuse' ? 'EXISTS' : { ...found, existed: true };
      });
      const fresh = rows.flatMap((row, n) => (places[n] === 'RACED' ? [{ row, n }] : []));
      const added = await insert(
        client,
        tenantId,
        fresh.map(({ row }) => row),
      );
      fresh.forEach(({ n }, at) => {
        places[n] = added[at] ?? 'RACED';
      });

      const good = rows.flatMap((registration, n) => {
        const place = places[n] as Place | string;
        return typeof place === 'string' ? [] : [{ registration, place, n }];
      });
      const issued = await issueTokens(client, options, good);
      const registered: Registered[] = places.map((place) => ({
        refused: typeof place === 'string' ? place : 'RACED',
      }));
      const updates: { deviceId: string; registration: Registration; expiresAt: Date | null }[] = [];
      const enrolled: string[] = [];
      good.forEach(({ place, registration, n }, at) => {
        // No token: a repeated upload contains the hash that this device already has.
        registered[n] = {
          deviceId: place.deviceId,
          existed: place.existed,
          deviceToken: issued[at]?.secret ?? null,
        };
        if (place.existed)
          updates.push({
            deviceId: place.deviceId,
            registration,
            expiresAt: known.get(registration.externalId as string)?.expiresAt ?? null,
          });
        else enrolled.push(place.deviceId);
      });
      const moved = good.filter(
        ({ place, registration: { pcId, externalId } }) =>
          pcId !== undefined && !(place.existed && known.get(externalId as string)?.pcId === pcId),
      );
      await engine.assignRunners(
        client,
        tenantId,
        moved.map(({ place, registration }) => ({
          laneId: place.laneId,
          runnerId: runners.get(registration.pcId as string) ?? null,
        })),
      );
      if (updates.length > 0) await applyUpdates(client, options, updates);
      if (enrolled.length > 0) await log.written(client, tenantId, 'enrolled', enrolled, by);
      return registered;
    },

    /** A token that replaces the old one at its first use. */
    async rotateToken(
      client: Queryable,
      tenantId: number,
      device: { deviceId: string; laneId: string },
      by: string,
    ) {
      const [issued] = await issueTokens(client, { tenantId, by, known: 'update' }, [
        { place: { ...device, existed: true }, registration: { name: '' } },
      ]);
      return issued?.secret as string;
    },

    /** The device is a different one from now on: its assigned actions and its tokens end, and it gets a new token. */
    async reEnrol(
      client: Queryable,
      tenantId: number,
      device: { deviceId: string; laneId: string },
      by: string | null,
    ) {
      await tokens.revokeOf(client, tenantId, 'device', [device.deviceId]);
      await engine.raiseGeneration(client, { tenantId, laneId: device.laneId });
      await contacts.beginAnew(client, tenantId, device.deviceId);
      await log.written(client, tenantId, 'enrolled', [device.deviceId], by);
      const [issued] = await issueTokens(client, { tenantId, by, known: 'update' }, [
        { place: { ...device, existed: true }, registration: { name: '' } },
      ]);
      return issued?.secret as string;
    },

    /** A token by which one phone becomes this device; an earlier one ends. */
    async issueEnrolmentToken(client: Queryable, tenantId: number, deviceId: string, by: string | null) {
      if (await queries.isDeregistered(client, tenantId, deviceId))
        throw deviceError('MUSTER_DEVICE_DEREGISTERED', 'The device is deregistered. Create a new one.');
      await tokens.revokeOf(client, tenantId, 'mdm-enrolment', [deviceId]);
      const { secret } = await tokens.create(client, {
        ...{ tenantId, kind: 'mdm-enrolment' as const, name: `enrolment of device ${deviceId}` },
        ...{ owner: deviceId, restriction: { deviceId }, createdBy: by },
      });
      return secret;
    },

    /** These tokens can no longer be used. */
    endEnrolmentTokens: (client: Queryable, tenantId: number, deviceIds: readonly string[]) =>
      tokens.revokeOf(client, tenantId, 'mdm-enrolment', deviceIds),

    /** The same for many; returns the token of each. */
    async issueEnrolmentTokens(
      client: Queryable,
      tenantId: number,
      deviceIds: readonly string[],
      by: string | null,
    ): Promise<Map<string, string>> {
      if (deviceIds.length === 0) return new Map();
      await tokens.revokeOf(client, tenantId, 'mdm-enrolment', deviceIds);
      const made = await tokens.createMany(
        client,
        tenantId,
        deviceIds.map((deviceId) => ({
          ...{ kind: 'mdm-enrolment' as const, name: `enrolment of device ${deviceId}` },
          ...{ owner: deviceId, restriction: { deviceId }, createdBy: by },
        })),
      );
      return new Map(deviceIds.map((deviceId, n) => [deviceId, made[n]?.secret as string]));
    },

    /** For doors that store data of devices: called in the transaction of the removal. */
    onRemoved: (forget: Forget) => void onRemoved.push(forget),

    /** False: no such device. Its assigned actions end. */
    async remove(client: Queryable, tenantId: number, deviceId: string): Promise<boolean> {
      const laneId = await queries.remove(client, tenantId, deviceId);
      if (laneId === null) return false;
      await tokens.revokeOf(client, tenantId, 'device', [deviceId]);
      await tokens.revokeOf(client, tenantId, 'mdm-enrolment', [deviceId]);
      for (const forget of onRemoved) await forget(client, tenantId, deviceId);
      await engine.raiseGeneration(client, { tenantId, laneId });
      await engine.assignRunner(client, { tenantId, laneId }, null);
      await contacts.forget(client, tenantId, deviceId);
      return true;
    },
  };

  async function applyUpdates(
    client: Queryable,
    options: RegisterOptions,
    updates: readonly { deviceId: string; registration: Registration; expiresAt: Date | null }[],
  ): Promise<void> {
    await queries.updateMany(
      client,
      options.tenantId,
      updates.map(({ deviceId, registration }) => ({
        deviceId,
        name: registration.name,
        tags: registration.tags ? [...new Set(registration.tags)] : null,
        expiresAt: registration.expiresAt ?? null,
        pcId: registration.pcId ?? null,
        ack: registration.ack ?? null,
      })),
    );
    const moved = updates.filter(
      ({ registration, expiresAt }) =>
        registration.expiresAt !== undefined && registration.expiresAt.getTime() !== expiresAt?.getTime(),
    );
    if (moved.length > 0)
      await log.written(
        client,
        options.tenantId,
        'expirySet',
        moved.map(({ deviceId }) => deviceId),
        options.by,
      );
  }
}
