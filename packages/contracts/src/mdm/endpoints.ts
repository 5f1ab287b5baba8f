import { z } from 'zod';
import { endpoint } from '../endpoint.ts';
import { IDEMPOTENCY_KEY, idParams } from '../values.ts';
import { answer, enrolment, phone, queuedCommand } from './answers.ts';
import { rawCommand } from './requests.ts';

const OF_PHONES = ['application/x-apple-aspen-mdm', 'application/x-apple-aspen-mdm-checkin'];
const MESSAGE = {
  bytes: OF_PHONES,
  produces: 'application/xml',
  headers: {
    'Mdm-Signature':
      'A detached CMS signature over the body, if the certificate is not shown by TLS or a proxy.',
  },
  responses: { 200: { description: 'The next command, or nothing at all.', schema: z.string() } },
} as const;

const CERTIFICATES = {
  produces: 'application/x-pki-message',
  responses: { 200: { description: 'The answer of the authority.', schema: z.string() } },
} as const;

/** Phones over Apple's protocol, and those who manage them. */
export const mdm = {
  message: endpoint({
    method: 'PUT',
    path: '/mdm',
    summary: 'A message of a phone of the default tenant',
    ...MESSAGE,
  }),
  messageOfTenant: endpoint({
    method: 'PUT',
    path: '/mdm/:tenant',
    summary: 'A message of a phone: a check-in or a report, told apart by the content type',
    params: z.strictObject({ tenant: z.string() }),
    ...MESSAGE,
  }),
  checkin: endpoint({
    method: 'PUT',
    path: '/checkin',
    summary: 'A check-in of a phone of the default tenant, whatever its content type',
    ...MESSAGE,
  }),
  profile: endpoint({
    method: 'GET',
    path: '/mdm/enrol/:token',
    summary: 'The profile by which a phone becomes managed, for a browser on the phone',
    params: z.strictObject({ token: z.string() }),
    produces: 'application/x-apple-aspen-config',
    responses: { 200: { description: 'The same each time, until a phone has used it.', schema: z.string() } },
  }),
  scepGet: endpoint({
    method: 'GET',
    path: '/scep',
    summary: 'The authority that issues certificates of phones, as SCEP has it',
    ...CERTIFICATES,
  }),
  scepPost: endpoint({
    method: 'POST',
    path: '/scep',
    summary: 'A request for a certificate, as SCEP has it',
    bytes: ['application/x-pki-message'],
    ...CERTIFICATES,
  }),
  enrol: endpoint({
    method: 'POST',
    path: '/api/devices/:id/mdm/enrolment',
    summary: 'A token by which one phone becomes this device; one that was issued before is over',
    params: idParams,
    responses: { 201: { description: 'The token, shown this once.', schema: enrolment } },
  }),
  phone: endpoint({
    method: 'GET',
    path: '/api/devices/:id/mdm',
    summary: 'What is known of the phone that is this device',
    params: idParams,
    responses: { 200: { description: 'As it is now.', schema: phone } },
  }),
  command: endpoint({
    method: 'POST',
    path: '/api/devices/:id/mdm/commands',
    summary: 'Queue a command for the phone that is this device; its answer is the result of the action',
    params: idParams,
    body: rawCommand,
    headers: IDEMPOTENCY_KEY,
    responses: {
      200: { description: 'It was there already, by its Idempotency-Key.', schema: queuedCommand },
      201: { description: 'Queued.', schema: queuedCommand },
    },
  }),
  answer: endpoint({
    method: 'GET',
    path: '/api/devices/:id/mdm/answers/:actionId',
    summary:
      'What the phone answered to a command, whole, if it was too large to be the result of the action',
    params: z.strictObject({ id: z.string(), actionId: z.string() }),
    responses: { 200: { description: 'All of it.', schema: answer } },
  }),
};
