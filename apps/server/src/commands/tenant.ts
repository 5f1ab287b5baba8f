import { TENANT_NAME } from '@muster/contracts/words';
import { COMMAND_LINE, createAudit } from '../audit/audit.ts';
import { DEFAULT_TENANT } from '../tenants/default-tenant.ts';
import { tenantError } from '../tenants/errors.ts';
import { createTenantQueries } from '../tenants/queries.ts';
import { type Command, CommandError } from './command.ts';
import { table } from './table.ts';

const AT_THE_SERVER = { tenantId: DEFAULT_TENANT, ...COMMAND_LINE };

export const tenantCreate: Command<{ name: string }> = {
  besideServer: true,
  needsSchema: true,
  async run({ config, db }, { name }, out) {
    if (!TENANT_NAME.form.test(name) || name.length > TENANT_NAME.longest)
      throw new CommandError(
        `The name of a tenant must be at most ${TENANT_NAME.longest} ${TENANT_NAME.described}.`,
      );
    const tenant = await createAudit(db, config.MUSTER_SCHEMA).change(
      AT_THE_SERVER,
      async (tx) => {
        const made = await createTenantQueries(config.MUSTER_SCHEMA).create(tx, name);
        if (!made) throw tenantError('MUSTER_TENANT_EXISTS', `The tenant "${name}" already exists.`);
        return made;
      },
      (made) => ({ act: 'tenant.create', target: `tenant ${made.tenantId}`, detail: { name } }),
    );
    out.say(`Created tenant ${tenant.tenantId} "${tenant.name}".`);
    out.note(
      `Create its first token: muster token create --tenant "${name}" --kind operator --role admin --name <name>`,
    );
    return 0;
  },
};

export const tenantList: Command<Record<string, never>> = {
  besideServer: true,
  needsSchema: true,
  async run({ config, db }, _args, out) {
    const tenants = await createTenantQueries(config.MUSTER_SCHEMA).list(db);
    const rows = tenants.map((one) => [String(one.tenantId), one.name, one.createdAt.toISOString()]);
    for (const line of table(['ID', 'NAME', 'CREATED'], rows)) out.say(line);
    return 0;
  },
};
