import { z } from 'zod';
import { endpoint } from '../endpoint.ts';

/** As NanoMDM names and answers it. */
const idsParams = z.strictObject({ ids: z.string() });
const ofEach = z
  .record(
    z.string(),
    z.strictObject({
      push_result: z.string().optional().describe("APNs' id of the push, or that one is on its way already."),
      push_error: z.string().optional(),
      command_error: z.string().optional(),
    }),
  )
  .describe('By the ids that were sent.');
const pushed = z.strictObject({ status: ofEach }).meta({ id: 'NanoPushed' });
const enqueued = z
  .strictObject({
    status: ofEach,
    no_push: z.boolean().optional(),
    command_uuid: z.string(),
    request_type: z.string(),
  })
  .meta({ id: 'NanoEnqueued' });
const SOME = 'Not all of them: what is wrong is said of each.';

/** What people and programs that come from NanoMDM send; a token is the password of Basic. */
export const nanomdm = {
  enqueue: endpoint({
    method: 'PUT',
    path: '/v1/enqueue/:ids',
    summary: 'A command as a property list for some phones, by their UDIDs and commas in between',
    params: idsParams,
    query: z.strictObject({
      nopush: z.string().optional().describe('With anything in it: nobody is woken up for it.'),
      serial: z.string().optional().describe("The phone's serial number, for EraseDevice."),
    }),
    bytes: ['application/xml'],
    responses: {
      200: { description: 'It is queued for all of them.', schema: enqueued },
      207: { description: SOME, schema: enqueued },
    },
  }),
  push: endpoint({
    method: 'GET',
    path: '/v1/push/:ids',
    summary: 'Wake some phones up now, by their UDIDs and commas in between',
    params: idsParams,
    responses: {
      200: { description: 'APNs has a push for each.', schema: pushed },
      207: { description: SOME, schema: pushed },
    },
  }),
};
