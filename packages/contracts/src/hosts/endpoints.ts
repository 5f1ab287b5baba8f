import { endpoint } from '../endpoint.ts';
import { host, hostPage, hostWithToken, loadPage, loadWithTimes } from './answers.ts';
import { enrolment, hostChange, hostParams, hostsQuery, newHost, statsQuery } from './requests.ts';

/** Hosts, the tokens of their agents, and for administrators what waits, runs and is stuck there. */
export const hosts = {
  create: endpoint({
    method: 'POST',
    path: '/api/hosts',
    summary: 'Add a host; the token of its agent is shown once',
    body: newHost,
    responses: { 201: { description: 'Added.', schema: hostWithToken } },
  }),
  enrol: endpoint({
    method: 'POST',
    path: '/api/hosts/enrol',
    summary: 'Enrol: a host registers itself; with its first secret it gets a new token for the same host',
    body: enrolment,
    responses: {
      201: {
        description:
          'Registered. If it was registered before, its old token stays valid until this one is used.',
        schema: hostWithToken,
      },
    },
  }),
  list: endpoint({
    method: 'GET',
    path: '/api/hosts',
    summary: 'List hosts, oldest first',
    query: hostsQuery,
    responses: { 200: { description: 'A page; pass its cursor to get the next one.', schema: hostPage } },
  }),
  get: endpoint({
    method: 'GET',
    path: '/api/hosts/:hostId',
    summary: 'Get a host',
    params: hostParams,
    responses: { 200: { description: 'The host.', schema: host } },
  }),
  update: endpoint({
    method: 'PATCH',
    path: '/api/hosts/:hostId',
    summary: 'Rename a host or change its slots',
    params: hostParams,
    body: hostChange,
    responses: { 200: { description: 'The host.', schema: host } },
  }),
  remove: endpoint({
    method: 'DELETE',
    path: '/api/hosts/:hostId',
    summary: 'Delete a host with its services; unfinished actions are cancelled',
    params: hostParams,
    responses: { 204: { description: 'Deleted.' } },
  }),
  rotateToken: endpoint({
    method: 'POST',
    path: '/api/hosts/:hostId/token',
    summary: 'Rotate the token of the agent; the old one stays valid until the new one is used',
    params: hostParams,
    responses: { 201: { description: 'Shown once.', schema: hostWithToken } },
  }),
  revokeToken: endpoint({
    method: 'DELETE',
    path: '/api/hosts/:hostId/token',
    summary: 'Revoke all tokens of the agent at once',
    params: hostParams,
    responses: { 204: { description: 'Revoked.' } },
  }),
  loads: endpoint({
    method: 'GET',
    path: '/api/hosts/load',
    summary: 'Show depth, running and stuck actions of every host',
    query: statsQuery,
    responses: { 200: { description: 'A page; pass its cursor to get the next one.', schema: loadPage } },
  }),
  load: endpoint({
    method: 'GET',
    path: '/api/hosts/:hostId/load',
    summary: 'Show depth, running and stuck actions of a host, and how long its last actions took',
    params: hostParams,
    query: statsQuery.pick({ stuckAfterSeconds: true }),
    responses: { 200: { description: 'Derived from the current queue.', schema: loadWithTimes } },
  }),
};
