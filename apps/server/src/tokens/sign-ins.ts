import { randomBytes, timingSafeEqual } from 'node:crypto';
import { type Database, type Duty, dutyRun, type Queryable } from '@muster/engine';
import { NotifiedCache } from '../database/notified-cache.ts';
import type { Caller } from './caller.ts';
import { sha256 } from './secret.ts';
import { createSignInQueries } from './sign-in-queries.ts';
import type { Tokens } from './tokens.ts';

/**
 * Signed-in browsers: each has its own secret, created with an operator token, and its caller is that of the token. It
 * has the token's rights at each moment, and none once the token is revoked, on all nodes at once.
 */
export interface SignedIn {
  readonly signInId: string;
  readonly caller: Caller;
  readonly signedInAt: Date;
  readonly endsAt: Date;
}

/** Notified of sign-outs on any node. */
export interface SignInWatcher {
  ended(tenantId: number, signInId: string): void;
  /** Notifications may have been lost: any of them may have ended. */
  missed(): void;
}

interface Known extends SignedIn {
  /** The version of the tokens before the look-up: any revocation since then requires another one. */
  readonly tokenVersion: number;
}

const FORM = /^mst_session_([1-9]\d{0,9})_[A-Za-z0-9_-]{43}$/;
const KEPT_MS = 10_000;
const MOST_KNOWN = 10_000;
/** Per token; one more ends the oldest. */
const MOST_OF_TOKEN = 100;
const DAY_MS = 86_400_000;
const EVERY_HOUR = 3_600_000;
const MOST_PRUNED = 1_000;

export type SignIns = ReturnType<typeof createSignIns>;

export function createSignIns(options: {
  readonly db: Database;
  readonly days: number;
  readonly now: () => Date;
  readonly schema: string;
  readonly tokens: Pick<Tokens, 'version'>;
}) {
  const { db, days, now, schema, tokens } = options;
  const queries = createSignInQueries(schema);
  const watchers: SignInWatcher[] = [];
  const cache = new NotifiedCache<Known>(db, {
    channel: `${schema}_sign_ins`,
    most: MOST_KNOWN,
    keptMs: KEPT_MS,
    onTold(told) {
      const [tenantId, signInId = ''] = told.split(':');
      for (const { ended } of watchers) ended(Number(tenantId), signInId);
    },
    onMissed() {
      for (const { missed } of watchers) missed();
    },
  });
  const word = (tenantId: number, signInId: string) => `${tenantId}:${signInId}`;

  return {
    /** The tenant named in a secret; null: not one of ours. */
    tenantOf(text: string): number | null {
      const tenantId = Number(FORM.exec(text)?.[1] ?? 'none');
      return tenantId <= 2_147_483_647 ? tenantId : null;
    },

    async create(
      client: Queryable,
      { tenantId, tokenId }: Caller,
    ): Promise<{ secret: string } & Omit<SignedIn, 'caller'>> {
      const secret = `mst_session_${tenantId}_${randomBytes(32).toString('base64url')}`;
      const signedInAt = now();
      const endsAt = new Date(signedInAt.getTime() + days * DAY_MS);
      const signInId = await queries.insert(client, {
        tenantId,
        tokenId,
        sha256: sha256(secret),
        signedInAt,
        endsAt,
      });
      const over = await queries.endOldest(client, tenantId, tokenId, MOST_OF_TOKEN);
      await cache.tell(
        client,
        over.map((id) => word(tenantId, id)),
      );
      return { secret, signInId, signedInAt, endsAt };
    },

    /** The sign-in with this secret; null: unknown or ended. */
    async find(text: string): Promise<SignedIn | null> {
      const tenantId = this.tenantOf(text);
      if (tenantId === null) return null;
      const hash = sha256(text);
      const key = hash.toString('latin1');
      const known = cache.get(key);
      if (known && known.tokenVersion === tokens.version) return known.endsAt > now() ? known : null;
      const [{ version }, tokenVersion] = [cache, tokens.version];
      const found = await queries.find(db.reserved, { tenantId, sha256: hash }, now());
      if (!found || !timingSafeEqual(found.sha256, hash)) return null;
      const { token, signInId, signedInAt, endsAt } = found;
      const caller: Caller = {
        tenantId,
        tokenId: token.tokenId,
        kind: token.kind,
        role: token.role,
        name: token.name,
        restriction: token.restriction,
      };
      const signedIn = { signInId, caller, signedInAt, endsAt, tokenVersion };
      cache.keep(key, signedIn, version, word(tenantId, signInId));
      return signedIn;
    },

    async remove(client: Queryable, tenantId: number, signInId: string): Promise<void> {
      await queries.remove(client, tenantId, signInId);
      await cache.tell(client, [word(tenantId, signInId)]);
    },

    pruning: {
      name: 'prune-sign-ins',
      everyMs: EVERY_HOUR,
      runOnce: async (client) => dutyRun(await queries.prune(client, now(), MOST_PRUNED), MOST_PRUNED),
    } satisfies Duty,

    watch: (watcher: SignInWatcher) => void watchers.push(watcher),

    /** Starts listening for sign-outs on other nodes. */
    start: () => cache.start(),
  };
}
