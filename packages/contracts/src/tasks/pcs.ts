import { page } from '../actions/answers.ts';
import { targetActionsQuery } from '../actions/requests.ts';
import { endpoint } from '../endpoint.ts';
import { idParams, pageQuery } from '../values.ts';
import { pc, pcPage, pcWithToken, presentDevices, runningDevices } from './answers.ts';
import { newPc, pcChange, presence } from './requests.ts';

/** PCs, and the tokens of their runners. */
export const pcs = {
  create: endpoint({
    method: 'POST',
    path: '/api/pcs',
    summary: 'Add a PC; the token of its runner is shown this once',
    body: newPc,
    responses: { 201: { description: 'Added.', schema: pcWithToken } },
  }),
  list: endpoint({
    method: 'GET',
    path: '/api/pcs',
    summary: 'List PCs in the order of their creation',
    query: pageQuery,
    responses: { 200: { description: 'A page; its cursor leads to the next one.', schema: pcPage } },
  }),
  running: endpoint({
    method: 'GET',
    path: '/api/pcs/running',
    summary: 'What runs on all PCs: the devices that their runners hold',
    responses: { 200: { description: 'As it is now.', schema: runningDevices } },
  }),
  get: endpoint({
    method: 'GET',
    path: '/api/pcs/:id',
    summary: 'One PC: what runs there, what could, and when its runner was last heard of',
    params: idParams,
    responses: { 200: { description: 'As it is now.', schema: pc } },
  }),
  actions: endpoint({
    method: 'GET',
    path: '/api/pcs/:id/actions',
    summary: 'What tasks have for the devices that belong to a PC, finished ones too, newest first',
    params: idParams,
    query: targetActionsQuery,
    responses: { 200: { description: 'A page; its cursor leads to the next one.', schema: page } },
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
    summary: 'Delete a PC; its devices belong to none from then on',
    params: idParams,
    responses: { 204: { description: 'Deleted.' } },
  }),
  setDevices: endpoint({
    method: 'PUT',
    path: '/api/pcs/:id/devices',
    summary: 'Say which devices of a PC are there; tasks pass over those that are not',
    params: idParams,
    body: presence,
    responses: {
      200: { description: 'How each device of the PC stands now.', schema: presentDevices },
    },
  }),
  rotateToken: endpoint({
    method: 'POST',
    path: '/api/pcs/:id/token',
    summary: 'A new token for the runner; the old one is valid until this one is used',
    params: idParams,
    responses: { 201: { description: 'The new token, shown this once.', schema: pcWithToken } },
  }),
  revokeToken: endpoint({
    method: 'DELETE',
    path: '/api/pcs/:id/token',
    summary: 'Revoke every token of the runner at once',
    params: idParams,
    responses: { 204: { description: 'Revoked.' } },
  }),
};
