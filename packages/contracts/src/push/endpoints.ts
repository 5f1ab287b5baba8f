import { z } from 'zod';
import { endpoint } from '../endpoint.ts';
import { time } from '../values.ts';

const pushToken = z
  .strictObject({
    token: z
      .string()
      .regex(/^(?:[0-9a-fA-F]{2}){8,100}$/)
      .describe('the device token from APNs, in hex'),
  })
  .meta({ id: 'PushToken' });

/** As NanoMDM answers it. */
const putCertificate = z
  .strictObject({
    ...{ topic: z.string(), not_after: time },
    warnings: z.array(z.string()).optional().describe('Problems with the certificate, which is used anyway.'),
  })
  .meta({ id: 'NanoPushCertificate' });
const pushCertificate = z
  .strictObject({
    topic: z.string(),
    own: z
      .boolean()
      .describe(
        'True: the tenant has its own. False: the one from the settings is used, if it is for this topic.',
      ),
    notAfter: time.nullable().describe('When the certificate expires; null: there is none.'),
    stopReason: z
      .string()
      .nullable()
      .describe('The reason from APNs why pushes are stopped; null: pushes are sent.'),
  })
  .meta({ id: 'PushCertificate' });
const pushCertificates = z
  .strictObject({ certificates: z.array(pushCertificate) })
  .meta({ id: 'PushCertificates' });
export type PushCertificates = z.infer<typeof pushCertificates>;

/** How devices are woken up, and shown messages. */
export const push = {
  putToken: endpoint({
    method: 'PUT',
    path: '/api/devices/me/push-token',
    summary: 'Register the push token of the companion app on a device',
    body: pushToken,
    responses: { 204: { description: 'Messages now go to this token.' } },
  }),
  certificates: endpoint({
    method: 'GET',
    path: '/api/push-certificates',
    summary: 'List the push certificates of the tenant and when they expire',
    responses: { 200: { description: 'One for each topic.', schema: pushCertificates } },
  }),
  putCertificate: endpoint({
    method: 'PUT',
    path: '/v1/pushcert',
    summary: 'Upload the push certificate of the tenant and its key, both in PEM; used at once',
    bytes: ['application/x-pem-file'],
    responses: { 200: { description: 'In use.', schema: putCertificate } },
  }),
};
