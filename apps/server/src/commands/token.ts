import { isTokenKind, KINDS, KINDS_BY_HAND, ROLES, type Role, TOKEN_KINDS } from '@muster/contracts/words';
import { COMMAND_LINE, createAudit } from '../audit/audit.ts';
import { DEFAULT_TENANT_NAME } from '../tenants/default-tenant.ts';
import { tenantError } from '../tenants/errors.ts';
import { createTenantQueries } from '../tenants/queries.ts';
import type { TokenRow } from '../tokens/queries.ts';
import { createTokens } from '../tokens/tokens.ts';
import { type Command, type CommandContext, CommandError } from './command.ts';
import { table } from './table.ts';

/** `muster token …`. A secret is printed once, as the only line of the answer, so scripts can store it. */
type TenantArg = { tenant?: string };

async function tools({ config, db }: CommandContext, { tenant = DEFAULT_TENANT_NAME }: TenantArg) {
  const schema = config.MUSTER_SCHEMA;
  const found = await createTenantQueries(schema).find(db, tenant);
  if (!found)
    throw tenantError(
      'MUSTER_UNKNOWN_TENANT',
      `There is no tenant "${tenant}". List tenants with "muster tenant list".`,
    );
  return { tenantId: found.tenantId, tokens: createTokens(db, schema), audit: createAudit(db, schema) };
}

export const tokenCreate: Command<
  TenantArg & { kind: string; role?: string; name: string; lanes?: string[] }
> = {
  besideServer: true,
  needsSchema: true,
  async run(context, args, out) {
    const { kind, name, lanes } = args;
    if (!isTokenKind(kind) || !TOKEN_KINDS[kind].byHand)
      throw new CommandError(`There is no token kind "${kind}".`);
    const role = kind === 'operator' ? ((args.role ?? 'operator') as Role) : null;
    if (role !== null && !ROLES.includes(role))
      throw new CommandError(`The role must be one of ${ROLES.join(', ')}.`);
    if (role === null && args.role !== undefined) throw new CommandError('Only operator tokens have a role.');
    if (lanes && kind !== 'worker') throw new CommandError('Only worker tokens can be limited to lanes.');
    const { tenantId, tokens, audit } = await tools(context, args);
    const { token, secret } = await audit.change(
      { tenantId, ...COMMAND_LINE },
      (tx) =>
        tokens.create(tx, {
          tenantId,
          kind,
          role,
          name,
          restriction: lanes ? { lanes } : null,
          createdBy: COMMAND_LINE.name,
        }),
      (made) => ({
        act: 'token.create',
        target: `token ${made.token.tokenId}`,
        detail: { kind, role, name, lanes },
      }),
    );
    out.note(`Token ${token.tokenId} "${name}" (${kind}${role ? `, ${role}` : ''}), shown once:`);
    out.say(secret);
    return 0;
  },
};

export const tokenList: Command<TenantArg & { kind?: string }> = {
  besideServer: true,
  needsSchema: true,
  async run(context, args, out) {
    const { kind } = args;
    if (kind !== undefined && !isTokenKind(kind))
      throw new CommandError(`The kind must be one of ${KINDS.join(', ')}.`);
    const { tenantId, tokens } = await tools(context, args);
    const kinds = kind ? [kind] : KINDS_BY_HAND;
    const rows = (await tokens.list(context.db, tenantId, { kinds })).map((token) => [
      token.tokenId,
      token.kind,
      token.role,
      token.name,
      token.createdAt.toISOString(),
      stateOf(token),
    ]);
    for (const line of table(['ID', 'KIND', 'ROLE', 'NAME', 'CREATED', 'STATE'], rows)) out.say(line);
    return 0;
  },
};

function stateOf(token: TokenRow): string {
  if (token.revokedAt) return `revoked ${token.revokedAt.toISOString()}`;
  if (token.replaces && !token.firstUsedAt) return `valid, replaces ${token.replaces} when first used`;
  return token.firstUsedAt ? 'valid' : 'valid, not used yet';
}

export const tokenRevoke: Command<TenantArg & { id: string }> = {
  besideServer: true,
  needsSchema: true,
  async run(context, args, out) {
    const { tenantId, tokens, audit } = await tools(context, args);
    await audit.change({ tenantId, ...COMMAND_LINE }, (tx) => tokens.revoke(tx, tenantId, args.id), {
      act: 'token.revoke',
      target: `token ${args.id}`,
    });
    out.say(`Token ${args.id} is revoked.`);
    return 0;
  },
};

export const tokenRotate: Command<TenantArg & { id: string }> = {
  besideServer: true,
  needsSchema: true,
  async run(context, args, out) {
    const { tenantId, tokens, audit } = await tools(context, args);
    const { token, secret } = await audit.change(
      { tenantId, ...COMMAND_LINE },
      (tx) => tokens.rotate(tx, tenantId, args.id, COMMAND_LINE.name),
      (made) => ({
        act: 'token.rotate',
        target: `token ${made.token.tokenId}`,
        detail: { replaces: made.token.replaces },
      }),
    );
    out.note(`Token ${token.tokenId} replaces ${token.replaces} when first used; shown once:`);
    out.say(secret);
    return 0;
  },
};
