import type { Found } from '@muster/contracts';
import type { Queryable } from '@muster/engine';

/** Finds things by id, or by the beginning of their name: each door searches its own. */
export interface Sought {
  readonly tenantId: number;
  readonly text: string;
  /** For `like`: the text in lower case as a prefix. */
  readonly prefix: string;
  /** Null: the text is not an id. */
  readonly id: string | null;
  readonly most: number;
}

export type Find = (client: Queryable, sought: Sought) => Promise<Found[]>;

const MOST_OF_A_TYPE = 5;
const MOST_LOOKED_AT = 10_000;

export class Searching {
  readonly #finders: Find[] = [];

  add(find: Find): void {
    this.#finders.push(find);
  }

  async search(client: Queryable, tenantId: number, q: string): Promise<Found[]> {
    const text = q.trim();
    if (text === '') return [];
    const sought: Sought = {
      tenantId,
      text,
      prefix: `${text.toLowerCase().replaceAll(/[\\%_]/g, '\\$&')}%`,
      id: /^[1-9]\d{0,17}$/.test(text) ? text : null,
      most: MOST_OF_A_TYPE,
    };
    const found: Found[] = [];
    for (const find of this.#finders) found.push(...(await find(client, sought)));
    return found;
  }
}

/** For things there are few of: by id, or by the beginning of the name. Looks at the newest 10,000. */
export function findNamed(
  s: string,
  of: {
    readonly type: Found['type'];
    readonly table: string;
    readonly id: string;
    /** A condition on the row `x`. */
    readonly where?: string;
  },
): Find {
  const text = `select x.${of.id} as id, x.name from (
      select * from ${s}.${of.table} x where x.tenant_id = $1 ${of.where ? `and ${of.where}` : ''} order by x.${of.id} desc limit ${MOST_LOOKED_AT}
    ) x
    where x.${of.id} = $2 or lower(x.name) like $3 order by (x.${of.id} = $2) is not true, lower(x.name) limit $4`;
  return async (client, { tenantId, id, prefix, most }) => {
    const { rows } = await client.query({ text, values: [tenantId, id, prefix, most] });
    return rows.map((row) => ({ type: of.type, id: row.id, name: row.name ?? `${of.type} ${row.id}` }));
  };
}
