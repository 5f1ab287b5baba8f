import { z } from 'zod';
import { endpoint } from '../endpoint.ts';
import { idParams, pageQuery, reasonBody } from '../values.ts';
import { countedDevices, device, devicePage, deviceWithToken, milestonePage, newToken } from './answers.ts';
import { countBody, enrolBody, listQuery, newDevice, updateBody } from './requests.ts';

/** The content types of an import. */
const CSV = 'text/csv';
const JSON_LINES = ['application/x-ndjson', 'application/jsonl', 'application/json-lines'];

/** Devices themselves: their registration, properties and history. */
export const devices = {
  create: endpoint({
    method: 'POST',
    path: '/api/devices',
    summary: 'Register a device; its token is shown once',
    body: newDevice,
    responses: { 201: { description: 'Registered.', schema: deviceWithToken } },
  }),
  list: endpoint({
    method: 'GET',
    path: '/api/devices',
    summary: 'List devices, oldest first',
    query: listQuery,
    responses: { 200: { description: 'A page; pass its cursor to get the next one.', schema: devicePage } },
  }),
  count: endpoint({
    method: 'POST',
    path: '/api/devices/count',
    summary: 'Count the devices that the targets of a batch or workflow match now',
    body: countBody,
    responses: { 200: { description: 'As of now.', schema: countedDevices } },
  }),
  get: endpoint({
    method: 'GET',
    path: '/api/devices/:id',
    summary: 'Get a device',
    params: idParams,
    responses: { 200: { description: 'As it is now.', schema: device } },
  }),
  update: endpoint({
    method: 'PATCH',
    path: '/api/devices/:id',
    summary: 'Update a device; omitted fields stay as they are',
    params: idParams,
    body: updateBody,
    responses: { 200: { description: 'As it is now.', schema: device } },
  }),
  clearError: endpoint({
    method: 'POST',
    path: '/api/devices/:id/clear-error',
    summary: 'Clear the error of a device, so that tasks can use it',
    params: idParams,
    responses: { 200: { description: 'As it is now.', schema: device } },
  }),
  pause: endpoint({
    method: 'POST',
    path: '/api/devices/:id/pause',
    summary: 'Pause the lane of a device: a running action continues, nothing more is handed out',
    params: idParams,
    body: reasonBody,
    responses: { 200: { description: 'As it is now.', schema: device } },
  }),
  resume: endpoint({
    method: 'POST',
    path: '/api/devices/:id/resume',
    summary: 'Resume the lane of a device',
    params: idParams,
    body: reasonBody,
    responses: { 200: { description: 'As it is now.', schema: device } },
  }),
  remove: endpoint({
    method: 'DELETE',
    path: '/api/devices/:id',
    summary: 'Delete a device: its actions are cancelled and its token revoked',
    params: idParams,
    responses: { 204: { description: 'Deleted.' } },
  }),
  reEnrol: endpoint({
    method: 'POST',
    path: '/api/devices/:id/re-enrol',
    summary:
      'Enrol a device again: its actions are cancelled, its old token is revoked and it gets a new one',
    params: idParams,
    responses: { 201: { description: 'The new token, shown once.', schema: newToken } },
  }),
  rotateToken: endpoint({
    method: 'POST',
    path: '/api/devices/:id/token',
    summary: 'Rotate the token; the old one stays valid until the new one is used',
    params: idParams,
    responses: { 201: { description: 'The new token, shown once.', schema: newToken } },
  }),
  milestones: endpoint({
    method: 'GET',
    path: '/api/devices/:id/milestones',
    summary: 'List what happened to a device, newest first',
    params: idParams,
    query: pageQuery,
    responses: {
      200: { description: 'A page; pass its cursor to get older entries.', schema: milestonePage },
    },
  }),
  enrol: endpoint({
    method: 'POST',
    path: '/api/devices/enrol',
    summary: 'Enrol: a device registers itself; its token is shown once',
    body: enrolBody,
    responses: { 201: { description: 'Registered or re-registered.', schema: newToken } },
  }),
  import: endpoint({
    method: 'POST',
    path: '/api/devices/import',
    summary: 'Import devices from CSV with a header or one JSON object per line; answers one line per row',
    takes: [CSV, ...JSON_LINES],
    produces: 'application/x-ndjson',
    responses: {
      200: {
        description:
          'One line per row: {line, id, deviceToken?} or {line, error}. If the upload was interrupted, send it again.',
        schema: z.string(),
      },
    },
  }),
};
