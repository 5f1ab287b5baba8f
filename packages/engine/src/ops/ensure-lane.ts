import type { Context, Operation } from '../operation.ts';
import { rows } from '../sql.ts';
import { checkName, checkTenant } from '../values.ts';

/**
 * The lane of a name, made on first use; gathered, and callers that ask for the same name at the same time get the same
 * answer. Only here can an open transaction that is about to make a lane of that name block: ten claims that waited for
 * it, each on a connection of its own, stopped a node.
 */
export interface LaneName {
  readonly tenantId: number;
  readonly space: string;
  readonly name: string;
}

export function checkLaneName(lane: LaneName): LaneName {
  checkTenant(lane.tenantId);
  checkName(lane.space, 'space of the lane', 1, 100);
  checkName(lane.name, 'name of the lane');
  return lane;
}

export function createEnsureLane({ schema: s }: Context): Operation<LaneName, string> {
  // In the order of the names, so that two nodes making the same lanes do not deadlock.
  const text = `select i.ord::int, ${s}.make_lane(i.tenant_id, i.space, i.name) as lane_id
    from (select * from ${rows(1, { tenant_id: 'int', space: 'text', name: 'text' })} order by tenant_id, space, name offset 0) i`;
  return {
    name: 'ensure-lane',
    key: ({ tenantId, space, name }) => `${tenantId}:${space}:${name}`,
    isShared: true,
    async run(client, items) {
      const { rows: found } = await client.query({
        name: 'muster_ensure_lane_names',
        text,
        values: [
          items.map(({ tenantId }) => tenantId),
          items.map(({ space }) => space),
          items.map(({ name }) => name),
        ],
      });
      const answers: string[] = [];
      for (const row of found) answers[row.ord - 1] = row.lane_id;
      return { answers, transitions: [], wakes: [] };
    },
  };
}
