import { z } from 'zod';

/** The form of every refusal. */
export const refusal = z
  .strictObject({
    error: z.string().describe('A sentence for people.'),
    code: z
      .string()
      .regex(/^MUSTER_/)
      .describe('Stable; see docs/errors.md.'),
    errors: z
      .array(z.strictObject({ message: z.string(), extensions: z.strictObject({ code: z.string() }) }))
      .optional()
      .describe('Only at /graphql: the same error in the form that GraphQL clients read.'),
  })
  .meta({ id: 'Error' });
export type Refusal = z.infer<typeof refusal>;
