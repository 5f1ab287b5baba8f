import { page } from '../actions/answers.ts';
import { targetActionsQuery } from '../actions/requests.ts';
import { endpoint } from '../endpoint.ts';
import { idParams, targetQuery } from '../values.ts';
import { pc, pcPage, pcWithToken, presentDevices, runningDevices } from './answers.ts';
import { newPc, pcChange, presence } from './requests.ts';

/** PCs, and the tokens of their runners. */
export const pcs = {
  create: endpoint({
    method: 'POST',
    path: '/api/pcs',
    summary: 'Add a PC; the token of its runner is shown once',
    body: newPc,
    responses: { 201: { description: 'Added.', schema: pcWithToken } },
  }),
  list: endpoint({
    method: 'GET',
    path: '/api/pcs',
    summary: 'List PCs, oldest first',
    query: targetQuery,
    responses: { 200: { description: 'A page; pass its cursor to get the next one.', schema: pcPage } },
  }),
  running: endpoint({
    method: 'GET',
    path: '/api/pcs/running',
    summary: 'List what runs on all PCs',
    responses: { 200: { description: 'As it is now.', schema: runningDevices } },
  }),
  get: endpoint({
    method: 'GET',
    path: '/api/pcs/:id',
    summary: 'Get a PC: what runs there, what could run, and the last contact of its runner',
    params: idParams,
    responses: { 200: { description: 'As it is now.', schema: pc } },
  }),
  actions: endpoint({
    method: 'GET',
    path: '/api/pcs/:id/actions',
    summary: 'List the task devices of a PC, including finished ones, newest first',
    params: idParams,
    query: targetActionsQuery,
    responses: { 200: { description: 'A page; pass its cursor to get the next one.', schema: page } },
  }),
  update: endpoint({
    method: 'PATCH',
    path: '/api/pcs/:id',
    summary: 'Rename a PC or change its slots',
    params: idParams,
    body: pcChange,
    responses: { 200: { description: 'As it is now.', schema: pc } },
  }),
  remove: endpoint({
    method: 'DELETE',
    path: '/api/pcs/:id',
    summary: 'Delete a PC; its devices then belong to no PC',
    params: idParams,
    responses: { 204: { description: 'Deleted.' } },
  }),
  setDevices: endpoint({
    method: 'PUT',
    path: '/api/pcs/:id/devices',
    summary: 'Report which devices of a PC are present; tasks skip absent ones',
    params: idParams,
    body: presence,
    responses: {
      200: { description: 'The presence of each device of the PC.', schema: presentDevices },
    },
  }),
  rotateToken: endpoint({
    method: 'POST',
    path: '/api/pcs/:id/token',
    summary: 'Rotate the token of the runner; the old one stays valid until the new one is used',
    params: idParams,
    responses: { 201: { description: 'The new token, shown once.', schema: pcWithToken } },
  }),
  revokeToken: endpoint({
    method: 'DELETE',
    path: '/api/pcs/:id/token',
    summary: 'Revoke all tokens of the runner at once',
    params: idParams,
    responses: { 204: { description: 'Revoked.' } },
  }),
};
