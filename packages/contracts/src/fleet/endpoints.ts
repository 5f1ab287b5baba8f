import { z } from 'zod';
import { endpoint } from '../endpoint.ts';
import { idParams, pageQuery } from '../values.ts';
import { device, devicePage, deviceWithToken, milestonePage, newToken } from './answers.ts';
import { enrolBody, listQuery, newDevice, updateBody } from './requests.ts';

/** What an import may be. */
const CSV = 'text/csv';
const JSON_LINES = ['application/x-ndjson', 'application/jsonl', 'application/json-lines'];

/** Devices themselves: which there are, how they come, what happened to them. */
export const devices = {
  create: endpoint({
    method: 'POST',
    path: '/api/devices',
    summary: 'Register a device; its token is shown this once',
    body: newDevice,
    responses: { 201: { description: 'Registered.', schema: deviceWithToken } },
  }),
  list: endpoint({
    method: 'GET',
    path: '/api/devices',
    summary: 'List devices, oldest first',
    query: listQuery,
    responses: { 200: { description: 'A page; the cursor leads to the next one.', schema: devicePage } },
  }),
  get: endpoint({
    method: 'GET',
    path: '/api/devices/:id',
    summary: 'One device',
    params: idParams,
    responses: { 200: { description: 'As it is now.', schema: device } },
  }),
  update: endpoint({
    method: 'PATCH',
    path: '/api/devices/:id',
    summary: 'Change a device; what is not named stays',
    params: idParams,
    body: updateBody,
    responses: { 200: { description: 'As it is now.', schema: device } },
  }),
  clearError: endpoint({
    method: 'POST',
    path: '/api/devices/:id/clear-error',
    summary: 'The device is in order again: tasks may have it',
    params: idParams,
    responses: { 200: { description: 'As it is now.', schema: device } },
  }),
  remove: endpoint({
    method: 'DELETE',
    path: '/api/devices/:id',
    summary: 'Delete a device: what was assigned to it ends, its token is over',
    params: idParams,
    responses: { 204: { description: 'Deleted.' } },
  }),
  reEnrol: endpoint({
    method: 'POST',
    path: '/api/devices/:id/re-enrol',
    summary: 'The device starts anew: what was assigned to it ends, its old token is over, it gets a new one',
    params: idParams,
    responses: { 201: { description: 'The new token, shown this once.', schema: newToken } },
  }),
  rotateToken: endpoint({
    method: 'POST',
    path: '/api/devices/:id/token',
    summary: 'A new token; the old one stays valid until the new one is used',
    params: idParams,
    responses: { 201: { description: 'The new token, shown this once.', schema: newToken } },
  }),
  milestones: endpoint({
    method: 'GET',
    path: '/api/devices/:id/milestones',
    summary: 'What happened to a device, newest first',
    params: idParams,
    query: pageQuery,
    responses: { 200: { description: 'A page; the cursor leads to older ones.', schema: milestonePage } },
  }),
  enrol: endpoint({
    method: 'POST',
    path: '/api/devices/enrol',
    summary: 'A device registers itself; its token is shown this once',
    body: enrolBody,
    responses: { 201: { description: 'Registered, or registered again.', schema: newToken } },
  }),
  import: endpoint({
    method: 'POST',
    path: '/api/devices/import',
    summary: 'Register a fleet: CSV with a header, or a JSON object per line; one line is answered per row',
    takes: [CSV, ...JSON_LINES],
    produces: 'application/x-ndjson',
    responses: {
      200: {
        description: 'A line per row: {line, id, deviceToken?} or {line, error}. Send a broken upload again.',
        schema: z.string(),
      },
    },
  }),
};
