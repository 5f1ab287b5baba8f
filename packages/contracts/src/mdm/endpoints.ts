import { z } from 'zod';
import { endpoint } from '../endpoint.ts';
import { emptyBody, IDEMPOTENCY_KEY, idParams, pageQuery } from '../values.ts';
import { answer, enrolment, phone, phonePage, pushed, queuedCommand } from './answers.ts';
import { rawCommand } from './requests.ts';

const OF_PHONES = ['application/x-apple-aspen-mdm', 'application/x-apple-aspen-mdm-checkin'];
const MESSAGE = {
  bytes: OF_PHONES,
  produces: 'application/xml',
  headers: {
    'Mdm-Signature':
      'A detached CMS signature of the body, if neither TLS nor a proxy presents the certificate.',
  },
  responses: { 200: { description: 'The next command, or an empty body.', schema: z.string() } },
} as const;

const CERTIFICATES = {
  produces: 'application/x-pki-message',
  responses: { 200: { description: 'The response of the authority.', schema: z.string() } },
} as const;

/** Phones over Apple's protocol, and their management. */
export const mdm = {
  message: endpoint({
    method: 'PUT',
    path: '/mdm',
    summary: 'Receive a message from a phone of the default tenant',
    ...MESSAGE,
  }),
  messageOfTenant: endpoint({
    method: 'PUT',
    path: '/mdm/:tenant',
    summary: 'Receive a message from a phone: a check-in or a report, depending on the content type',
    params: z.strictObject({ tenant: z.string() }),
    ...MESSAGE,
  }),
  checkin: endpoint({
    method: 'PUT',
    path: '/checkin',
    summary: 'Receive a check-in from a phone of the default tenant, with any content type',
    ...MESSAGE,
  }),
  profile: endpoint({
    method: 'GET',
    path: '/mdm/enrol/:token',
    summary: 'Download the enrolment profile with a browser on the phone',
    params: z.strictObject({ token: z.string() }),
    produces: 'application/x-apple-aspen-config',
    responses: { 200: { description: 'The same each time, until a phone uses it.', schema: z.string() } },
  }),
  scepGet: endpoint({
    method: 'GET',
    path: '/scep',
    summary: 'SCEP: get the authority that issues the certificates of phones',
    ...CERTIFICATES,
  }),
  scepPost: endpoint({
    method: 'POST',
    path: '/scep',
    summary: 'SCEP: request a certificate',
    bytes: ['application/x-pki-message'],
    ...CERTIFICATES,
  }),
  enrol: endpoint({
    method: 'POST',
    path: '/api/devices/:id/mdm/enrolment',
    summary: 'Create a token that enrols one phone as this device; an earlier one becomes invalid',
    params: idParams,
    responses: { 201: { description: 'The token, shown once.', schema: enrolment } },
  }),
  phone: endpoint({
    method: 'GET',
    path: '/api/devices/:id/mdm',
    summary: 'Get the phone that is enrolled as this device',
    params: idParams,
    responses: { 200: { description: 'As it is now.', schema: phone } },
  }),
  phones: endpoint({
    method: 'GET',
    path: '/api/phones',
    summary: 'List phones, newest device first: whether they can be reached, and until when',
    query: pageQuery,
    responses: { 200: { description: 'A page; pass its cursor to get the next one.', schema: phonePage } },
  }),
  pushNow: endpoint({
    method: 'POST',
    path: '/api/devices/:id/mdm/push',
    summary: 'Push to the phone now, even while pushes are stopped, and return what APNs answered',
    params: idParams,
    body: emptyBody,
    responses: { 200: { description: 'The outcome.', schema: pushed } },
  }),
  command: endpoint({
    method: 'POST',
    path: '/api/devices/:id/mdm/commands',
    summary: 'Queue a command for the phone of this device; its answer becomes the result of the action',
    params: idParams,
    body: rawCommand,
    headers: IDEMPOTENCY_KEY,
    responses: {
      200: { description: 'It already existed: same Idempotency-Key.', schema: queuedCommand },
      201: { description: 'Queued.', schema: queuedCommand },
    },
  }),
  answer: endpoint({
    method: 'GET',
    path: '/api/devices/:id/mdm/answers/:actionId',
    summary: 'Get the full answer of a phone, if it was too large for the result of the action',
    params: z.strictObject({ id: z.string(), actionId: z.string() }),
    responses: { 200: { description: 'The full content.', schema: answer } },
  }),
};
