import { timingSafeEqual } from 'node:crypto';
import type { Role, TokenKind } from '@muster/contracts/words';
import { BoundedMap, byTenant, type Database, type Queryable } from '@muster/engine';
import { gatherReads } from '../database/gathered-reads.ts';
import { NotifiedCache } from '../database/notified-cache.ts';
import { isId } from '../http/ids.ts';
import type { Caller } from './caller.ts';
import { tokenError } from './errors.ts';
import { createTokenQueries, type TokenPage, type TokenRow } from './queries.ts';
import { newSecret, type Presented, readSecret, sha256 } from './secret.ts';

/**
 * Tokens of every kind: issued (the secret is shown once), looked up, revoked, rotated. A rotation leaves the old token
 * valid until the first use of the new one:
 *
 *   old valid ──rotate──► old and new valid ──first use of new──► only new valid
 *
 * Another rotation before that ends the new one: only the token in use and the newest are valid. So `replaces` always
 * names the token in use. Changes of several tokens lock them by number.
 */
export interface TokenRequest {
  readonly tenantId: number;
  readonly kind: TokenKind;
  readonly role?: Role | null;
  readonly name: string;
  readonly restriction?: unknown;
  /** The target that owns the token: all of its tokens are found and revoked by this. */
  readonly owner?: string | null;
  readonly createdBy?: string | null;
}

/** A formerly valid token, and what it was for. */
export type FormerToken = Pick<Caller, 'tenantId' | 'kind' | 'restriction'>;

const KEPT_MS = 10_000;
const MOST_CALLERS = 50_000;
const MOST_RECENT = 20_000;
const MOST_AT_ONCE = 1_000;

type TokenRef = Pick<Caller, 'tenantId' | 'tokenId'>;

/** Notified about tokens that were valid. */
export interface Watcher {
  revoked(tenantId: number, tokenId: string): void;
  /** Notifications may have been lost: anything may have been revoked. */
  missed(): void;
}

export type Tokens = ReturnType<typeof createTokens>;

export function createTokens(db: Database, schema: string) {
  const queries = createTokenQueries(schema);
  // The parsed parts of a text never change, and its hash took a twentieth of a request; its validity is in `cache`.
  const recent = new BoundedMap<string, Presented>(MOST_RECENT);
  const word = (tenantId: number, tokenId: string) => `${tenantId}:${tokenId}`;

  const watchers: Watcher[] = [];

  /**
   * Callers by the hash of their token, for at most ten seconds, so a busy worker does not cost a look-up per request.
   * A revocation is sent to every node at once; the ten seconds cover a lost notification. No caller is rejected before
   * the commit of a revocation, which may never come.
   */
  const cache = new NotifiedCache<Caller>(db, {
    channel: `${schema}_tokens`,
    most: MOST_CALLERS,
    keptMs: KEPT_MS,
    onTold(told) {
      const [tenantId, tokenId] = told.split(':');
      if (!tenantId || !tokenId) return;
      for (const { revoked } of watchers) revoked(Number(tenantId), tokenId);
    },
    onMissed() {
      for (const { missed } of watchers) missed();
    },
  });

  const tell = (client: Queryable, tenantId: number, tokenIds: readonly string[]) =>
    cache.tell(
      client,
      tokenIds.map((tokenId) => word(tenantId, tokenId)),
    );

  const find = gatherReads(
    db,
    (wanted: readonly Presented[]) => queries.findMany(db.reserved, wanted),
    db.writers,
  );
  /** Written once in the life of a token. */
  const firstUse = gatherReads(
    db,
    async (used: readonly { tenantId: number; tokenId: string }[]) => {
      const marked = await queries.markFirstUses(db.reserved, used);
      for (const [n, { tenantId }] of used.entries()) {
        const ended = marked[n]?.ended;
        if (ended) await tell(db.reserved, tenantId, [ended]);
      }
      return marked;
    },
    1,
  );

  async function known(client: Queryable, tenantId: number, tokenId: string): Promise<TokenRow> {
    const found = isId(tokenId) ? await queries.get(client, tenantId, tokenId) : null;
    if (!found) throw tokenError('MUSTER_UNKNOWN_TOKEN', 'There is no token with this id.');
    return found;
  }

  /** For each of these the token that a new one has to replace; revoked ones are missing. Locks them. */
  async function inUse(client: Queryable, tenantId: number, tokenIds: readonly string[]) {
    const valid = await queries.lockValid(client, tenantId, tokenIds);
    const ids = new Set(valid.map(({ tokenId }) => tokenId));
    return new Map(
      valid.map(({ tokenId, replaces }) => [
        tokenId,
        replaces !== null && ids.has(replaces) ? replaces : tokenId,
      ]),
    );
  }

  async function endPassedOver(client: Queryable, tenantId: number, tokenIds: readonly string[]) {
    if (tokenIds.length === 0) return;
    await tell(client, tenantId, await queries.revokePassedOver(client, tenantId, tokenIds));
  }

  async function issue(
    client: Queryable,
    request: TokenRequest,
    replaces: string | null,
  ): Promise<{ token: TokenRow; secret: string }> {
    const secret = newSecret(request.kind, request.tenantId);
    const token = await queries.insert(client, {
      tenantId: request.tenantId,
      kind: request.kind,
      role: request.role ?? null,
      name: request.name,
      sha256: sha256(secret),
      origin: 'issued',
      restriction: request.restriction ?? null,
      owner: request.owner ?? null,
      createdBy: request.createdBy ?? null,
      replaces,
    });
    return { token, secret };
  }

  async function rotate(client: Queryable, tenantId: number, tokenId: string, createdBy: string | null) {
    const old = await known(client, tenantId, tokenId);
    const replaces = (await inUse(client, tenantId, [tokenId])).get(tokenId);
    if (replaces === undefined)
      throw tokenError('MUSTER_TOKEN_REVOKED', 'This token is revoked. Create a new one instead.');
    const made = await issue(client, { ...old, createdBy }, replaces);
    await endPassedOver(client, tenantId, [made.token.tokenId]);
    return made;
  }

  return {
    create: (client: Queryable, request: TokenRequest) => issue(client, request, null),

    /**
     * Many at once, each with a new secret or with the hash of one that its owner already has. `replaces` is a token of
     * the same owner: the one in use ends with the first use of this one. Null: the hash is taken.
     */
    async createMany(
      client: Queryable,
      tenantId: number,
      requests: readonly (Omit<TokenRequest, 'tenantId'> & {
        readonly sha256?: Buffer | undefined;
        readonly replaces?: string | null;
      })[],
    ): Promise<({ tokenId: string; secret: string | null } | null)[]> {
      const secrets = requests.map((one) => (one.sha256 ? null : newSecret(one.kind, tenantId)));
      const replaced = requests.flatMap((one) => one.replaces ?? []);
      const used = replaced.length > 0 ? await inUse(client, tenantId, replaced) : new Map<string, string>();
      const ids = await queries.insertMany(
        client,
        requests.map((one, n) => ({
          tenantId,
          kind: one.kind,
          name: one.name,
          sha256: one.sha256 ?? sha256(secrets[n] as string),
          restriction: one.restriction ?? null,
          owner: one.owner ?? null,
          createdBy: one.createdBy ?? null,
          replaces: used.get(one.replaces ?? '') ?? null,
        })),
      );
      await endPassedOver(
        client,
        tenantId,
        ids.filter((tokenId, n) => tokenId !== null && requests[n]?.replaces) as string[],
      );
      return ids.map((tokenId, n) => (tokenId === null ? null : { tokenId, secret: secrets[n] ?? null }));
    },

    /** The valid tokens of these owners, newest first. */
    idsOf: queries.idsOf,
    /** Tokens with these hashes, valid or not. */
    withHashes: queries.withHashes,

    /**
     * Revokes all of them, even one that a concurrent rotation creates: the rotation holds the lock of the old one
     * until the new one can be found, so the search is repeated until none is left. Returns how many there were.
     */
    async revokeOf(
      client: Queryable,
      tenantId: number,
      kind: TokenKind,
      owners: readonly string[],
    ): Promise<number> {
      if (owners.length === 0) return 0;
      for (let count = 0; ; ) {
        const ended = await queries.revokeOf(client, tenantId, kind, owners);
        if (ended.length === 0) return count;
        count += ended.length;
        await tell(client, tenantId, ended);
      }
    },

    list: (client: Queryable, tenantId: number, page: TokenPage) => queries.list(client, tenantId, page),

    async revoke(client: Queryable, tenantId: number, tokenId: string): Promise<TokenRow> {
      const token = await known(client, tenantId, tokenId);
      // Under the locks of all of them: of two admins that revoke each other, the second is refused.
      const admins = token.role === 'admin' ? await queries.lockAdmins(client, tenantId) : [];
      if (admins.length === 1 && admins[0] === tokenId)
        throw tokenError(
          'MUSTER_LAST_ADMIN',
          'This is the last admin token of the tenant. Create another one first.',
        );
      const revoked = (await queries.revoke(client, tenantId, tokenId)) as TokenRow;
      await tell(client, tenantId, [tokenId]);
      return revoked;
    },

    rotate,

    /** For an owner: its old token stays valid until the new one is used; if all were revoked, it gets a fresh one. */
    async issueFor(client: Queryable, request: TokenRequest & { readonly owner: string }): Promise<string> {
      const { tenantId, kind, owner, createdBy = null } = request;
      const [newest] = await queries.idsOf(client, tenantId, kind, [owner]);
      const issued = newest
        ? await rotate(client, tenantId, newest.tokenId, createdBy)
        : await issue(client, request, null);
      return issued.secret;
    },

    /** The caller of a bearer text, or null. Cached; the first use of a rotated token ends the old one. */
    async authenticate(text: string): Promise<Caller | null> {
      const presented = recent.get(text) ?? readSecret(text);
      if (!presented) return null;
      const hash = presented.sha256.toString('latin1');
      const cached = cache.get(hash);
      if (cached) return cached;
      const { version } = cache;
      const found = await find(presented);
      if (!found || !timingSafeEqual(found.sha256, presented.sha256)) return null;
      const { caller } = found;
      if (presented.kind !== null && presented.kind !== caller.kind) return null;
      let isMarked = true;
      if (!found.wasUsed) {
        const first = await firstUse(caller);
        if (!first.valid) return null;
        isMarked = first.marked;
      }
      if (isMarked) cache.keep(hash, caller, version, word(caller.tenantId, caller.tokenId));
      recent.set(text, presented);
      return caller;
    },

    /** What a revoked token was for; null: never one of ours, or still valid. */
    async former(text: string): Promise<FormerToken | null> {
      const presented = readSecret(text);
      if (!presented) return null;
      const [found] = await queries.withHashes(db.reserved, presented.tenantId, [presented.sha256]);
      if (!found?.revokedAt || !timingSafeEqual(found.sha256, presented.sha256)) return null;
      return { tenantId: found.tenantId, kind: found.kind, restriction: found.restriction };
    },

    /** Ensures an admin token that was given to the server: valid, and the only one of its origin. */
    async ensureAdmin(
      client: Queryable,
      tenantId: number,
      text: string,
      origin: 'setting' | 'folder',
    ): Promise<void> {
      const token = await queries.insert(client, {
        tenantId,
        kind: 'operator',
        role: 'admin',
        name: origin === 'setting' ? 'MUSTER_OPERATOR_TOKEN' : 'operator-token file',
        sha256: sha256(text),
        origin,
        restriction: null,
        owner: null,
        createdBy: null,
        replaces: null,
      });
      await tell(client, tenantId, await queries.revokeOthersOf(client, tenantId, origin, token.tokenId));
    },

    /** The setting was removed: revokes the token it named. */
    async endOrigin(client: Queryable, tenantId: number, origin: 'setting' | 'folder'): Promise<void> {
      await tell(client, tenantId, await queries.revokeOthersOf(client, tenantId, origin, null));
    },

    hasAdmin: queries.hasAdmin,

    async isValid(client: Queryable, tenantId: number, text: string): Promise<boolean> {
      return (await queries.findMany(client, [{ tenantId, sha256: sha256(text) }]))[0] !== null;
    },

    /** Raised by every revocation, before any notification. */
    get version() {
      return cache.version;
    },
    watch: (watcher: Watcher) => void watchers.push(watcher),
    /** Those of these that are no longer valid. */
    async invalidOf(tokens: readonly TokenRef[]): Promise<TokenRef[]> {
      const invalid: TokenRef[] = [];
      for (let at = 0; at < tokens.length; at += MOST_AT_ONCE)
        for (const some of byTenant(db, tokens.slice(at, at + MOST_AT_ONCE)))
          invalid.push(...(await queries.invalidOf(db, some)));
      return invalid;
    },

    /** Starts listening for revocations on other nodes. */
    start: () => cache.start(),
  };
}
