import type { Queryable } from '@muster/engine';
import { httpError } from '../../http/errors.ts';
import { isId } from '../../http/ids.ts';
import { checkCarried } from './carried-text.ts';
import { pipelineError } from './errors.ts';

/** Texts for messages. The text of a template goes to the device unchanged. */
export interface Template {
  readonly id: string;
  readonly name: string;
  readonly content: string;
  readonly isActive: boolean;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

const LONGEST_NAME = 200;
const LONGEST_CONTENT = 10_000;

function check(given: { name?: string | null | undefined; content?: string | null | undefined }): void {
  for (const [field, longest] of [
    ['name', LONGEST_NAME],
    ['content', LONGEST_CONTENT],
  ] as const) {
    const text = given[field];
    if (typeof text !== 'string') continue;
    if (text.trim() === '' || text.length > longest)
      throw httpError(
        'MUSTER_BAD_REQUEST',
        `${field} must have from 1 to ${longest} characters, and not only blanks.`,
      );
    checkCarried(field, text);
  }
}

export type Templates = ReturnType<typeof createTemplates>;

export function createTemplates(s: string, now: () => Date) {
  // biome-ignore lint/suspicious/noExplicitAny: a row of the table
  const template = (row: any): Template => ({
    ...{ id: row.template_id, name: row.name, content: row.content, isActive: row.is_active },
    ...{ createdAt: row.created_at, updatedAt: row.updated_at },
  });
  const unknown = () => pipelineError('TEMPLATE_NOT_FOUND', 'There is no message template with this id.');

  return {
    /** Those of these that exist. */
    async find(
      client: Queryable,
      tenantId: number,
      ids: readonly string[],
    ): Promise<ReadonlyMap<string, Template>> {
      const wanted = [...new Set(ids.filter(isId))];
      if (wanted.length === 0) return new Map();
      const { rows } = await client.query({
        name: 'muster_pipeline_templates',
        text: `select t.* from unnest((select $2::bigint[])) i(template_id) cross join lateral (
            select * from ${s}.message_templates t where t.tenant_id = $1 and t.template_id = i.template_id limit 1
          ) t`,
        values: [tenantId, wanted],
      });
      return new Map(rows.map((row) => [row.template_id, template(row)]));
    },

    /** By id, the newest last. */
    async list(
      client: Queryable,
      tenantId: number,
      page: { after: string | null; limit: number; isActive: boolean | null },
    ): Promise<Template[]> {
      const { rows } = await client.query({
        text: `select * from ${s}.message_templates where tenant_id = $1 and template_id > $2 and ($4::boolean is null or is_active = $4)
          order by template_id limit $3`,
        values: [tenantId, page.after ?? '0', page.limit, page.isActive],
      });
      return rows.map(template);
    },

    async create(
      client: Queryable,
      tenantId: number,
      given: { name: string; content: string },
    ): Promise<Template> {
      check(given);
      const { rows } = await client.query({
        text: `insert into ${s}.message_templates (tenant_id, name, content, created_at, updated_at) values ($1, $2, $3, $4, $4) returning *`,
        values: [tenantId, given.name, given.content, now()],
      });
      return template(rows[0]);
    },

    /** Fields that are not given stay. */
    async update(
      client: Queryable,
      tenantId: number,
      id: string,
      given: { name?: string | null | undefined; content?: string | null | undefined; isActive?: boolean },
    ): Promise<Template> {
      check(given);
      const { rows } = isId(id)
        ? await client.query({
            text: `update ${s}.message_templates set name = coalesce($3, name), content = coalesce($4, content),
                is_active = coalesce($5, is_active), updated_at = $6
              where tenant_id = $1 and template_id = $2 returning *`,
            values: [tenantId, id, given.name ?? null, given.content ?? null, given.isActive ?? null, now()],
          })
        : { rows: [] };
      if (!rows[0]) throw unknown();
      return template(rows[0]);
    },
  };
}
