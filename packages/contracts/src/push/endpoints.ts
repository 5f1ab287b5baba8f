import { z } from 'zod';
import { endpoint } from '../endpoint.ts';
import { time } from '../values.ts';

const pushToken = z
  .strictObject({
    token: z
      .string()
      .regex(/^(?:[0-9a-fA-F]{2}){8,100}$/)
      .describe('as APNs gave it to the app, in hex'),
  })
  .meta({ id: 'PushToken' });

/** As NanoMDM answers it. */
const putCertificate = z
  .strictObject({ topic: z.string(), not_after: time })
  .meta({ id: 'NanoPushCertificate' });
/** How devices are woken up, and shown messages. */
export const push = {
  putToken: endpoint({
    method: 'PUT',
    path: '/api/devices/me/push-token',
    summary: 'The companion app on a device says by which token messages get to it',
    body: pushToken,
    responses: { 204: { description: 'Messages go there from now on.' } },
  }),
  putCertificate: endpoint({
    method: 'PUT',
    path: '/v1/pushcert',
    summary: 'The push certificate of the tenant and its key, both in PEM; in use at once',
    bytes: ['application/x-pem-file'],
    responses: { 200: { description: 'In use.', schema: putCertificate } },
  }),
};
