import { z } from 'zod';
import { endpoint } from '../endpoint.ts';

/** As NanoMDM names and answers it. */
const idsParams = z.strictObject({ ids: z.string() });
const ofEach = z
  .record(
    z.string(),
    z.strictObject({
      push_result: z
        .string()
        .optional()
        .describe('The id from APNs, or a note that a push is already on its way.'),
      push_error: z.string().optional(),
      command_error: z.string().optional(),
    }),
  )
  .describe('By the ids in the request.');
const pushed = z.strictObject({ status: ofEach }).meta({ id: 'NanoPushed' });
const enqueued = z
  .strictObject({
    status: ofEach,
    no_push: z.boolean().optional(),
    command_uuid: z.string(),
    request_type: z.string(),
  })
  .meta({ id: 'NanoEnqueued' });
const SOME = 'Not all succeeded; each failure has its own error.';

/** Requests of people and programs that come from NanoMDM; a token is the password of Basic. */
export const nanomdm = {
  enqueue: endpoint({
    method: 'PUT',
    path: '/v1/enqueue/:ids',
    summary: 'Queue a command, as a property list, for the phones with these UDIDs, separated by commas',
    params: idsParams,
    query: z.strictObject({
      nopush: z.string().optional().describe('Any value: queue without a push.'),
      serial: z.string().optional().describe("The phone's serial number, for EraseDevice."),
    }),
    bytes: ['application/xml'],
    responses: {
      200: { description: 'Queued for all of them.', schema: enqueued },
      207: { description: SOME, schema: enqueued },
    },
  }),
  push: endpoint({
    method: 'GET',
    path: '/v1/push/:ids',
    summary: 'Push now to the phones with these UDIDs, separated by commas',
    params: idsParams,
    responses: {
      200: { description: 'APNs accepted a push for each.', schema: pushed },
      207: { description: SOME, schema: pushed },
    },
  }),
};
