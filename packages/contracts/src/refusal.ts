import { z } from 'zod';

/** What every refusal looks like. */
export const refusal = z
  .strictObject({
    error: z.string().describe('A sentence for people.'),
    code: z
      .string()
      .regex(/^MUSTER_/)
      .describe('Stable; see docs/errors.md.'),
  })
  .meta({ id: 'Error' });
export type Refusal = z.infer<typeof refusal>;
