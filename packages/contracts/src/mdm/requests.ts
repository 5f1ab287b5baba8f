import { z } from 'zod';

/** Request schemas for the management of phones. */
export const rawCommand = z
  .strictObject({
    requestType: z
      .string()
      .regex(/^[A-Za-z][A-Za-z0-9]{0,63}$/)
      .describe('the name of an Apple command'),
    keys: z
      .record(z.string(), z.unknown())
      .optional()
      .describe(
        'The keys beside RequestType. Write data as {"$data": "<base64>"}, a date as {"$date": "<time>"}.',
      ),
    serial: z
      .string()
      .max(200)
      .optional()
      .describe('For EraseDevice: the serial number of the device, repeated.'),
    priority: z.enum(['normal', 'urgent']).optional(),
  })
  .meta({ id: 'RawCommand' });
export type RawCommand = z.infer<typeof rawCommand>;
