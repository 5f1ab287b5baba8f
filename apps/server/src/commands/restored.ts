import { raiseIncarnation } from '@muster/engine';
import { COMMAND_LINE, createAudit } from '../audit/audit.ts';
import { DEFAULT_TENANT } from '../tenants/default-tenant.ts';
import type { Command } from './command.ts';

/** `muster restored`: for backups after which the server looks unchanged, so no start can notice the restore. */
export const restored: Command<Record<string, never>> = {
  besideServer: true,
  needsSchema: true,
  async run({ config, db }, _args, out) {
    const audit = createAudit(db, config.MUSTER_SCHEMA);
    const { renumbered } = await raiseIncarnation(db, config.MUSTER_SCHEMA, (tx, detail) =>
      audit.write(
        tx,
        { tenantId: DEFAULT_TENANT, ...COMMAND_LINE },
        { act: 'database.restore', target: 'database', detail },
      ),
    );
    if (renumbered) out.say('Transaction numbers were ahead of the server and have been corrected.');
    out.say('Earlier cursors of the event feed are now refused; their readers start over.');
    return 0;
  },
};
