import { endpoint } from '../endpoint.ts';
import { host, hostPage, hostWithToken, loadPage, loadWithTimes } from './answers.ts';
import { enrolment, hostChange, hostParams, hostsQuery, newHost, statsQuery } from './requests.ts';

/** Hosts, the tokens of their agents, and for administrators what waits, runs and is stuck there. */
export const hosts = {
  create: endpoint({
    method: 'POST',
    path: '/api/hosts',
    summary: 'Add a host; the token of its agent is shown this once',
    body: newHost,
    responses: { 201: { description: 'Added.', schema: hostWithToken } },
  }),
  enrol: endpoint({
    method: 'POST',
    path: '/api/hosts/enrol',
    summary:
      'A host registers itself; with the secret of the first time it gets a new token for the same host',
    body: enrolment,
    responses: {
      201: {
        description: 'Registered, or registered before: then its old token is valid until this one is used.',
        schema: hostWithToken,
      },
    },
  }),
  list: endpoint({
    method: 'GET',
    path: '/api/hosts',
    summary: 'List hosts in the order of their creation',
    query: hostsQuery,
    responses: { 200: { description: 'A page; its cursor leads to the next one.', schema: hostPage } },
  }),
  get: endpoint({
    method: 'GET',
    path: '/api/hosts/:hostId',
    summary: 'One host',
    params: hostParams,
    responses: { 200: { description: 'The host.', schema: host } },
  }),
  update: endpoint({
    method: 'PATCH',
    path: '/api/hosts/:hostId',
    summary: 'Rename a host or change its slots',
    params: hostParams,
    body: hostChange,
    responses: { 200: { description: 'The host as it is now.', schema: host } },
  }),
  remove: endpoint({
    method: 'DELETE',
    path: '/api/hosts/:hostId',
    summary: 'Delete a host with its services; what is unfinished there is cancelled',
    params: hostParams,
    responses: { 204: { description: 'Deleted.' } },
  }),
  rotateToken: endpoint({
    method: 'POST',
    path: '/api/hosts/:hostId/token',
    summary: 'A new token for the agent; the old one is valid until this one is used',
    params: hostParams,
    responses: { 201: { description: 'Shown this once.', schema: hostWithToken } },
  }),
  revokeToken: endpoint({
    method: 'DELETE',
    path: '/api/hosts/:hostId/token',
    summary: 'Revoke every token of the agent at once',
    params: hostParams,
    responses: { 204: { description: 'Revoked.' } },
  }),
  loads: endpoint({
    method: 'GET',
    path: '/api/hosts/load',
    summary: 'Depth, running and stuck actions of every host',
    query: statsQuery,
    responses: { 200: { description: 'A page; its cursor leads to the next one.', schema: loadPage } },
  }),
  load: endpoint({
    method: 'GET',
    path: '/api/hosts/:hostId/load',
    summary: 'Depth, running and stuck actions of a host, and how long its last actions took',
    params: hostParams,
    query: statsQuery.pick({ stuckAfterSeconds: true }),
    responses: { 200: { description: 'Derived from the queue as it is now.', schema: loadWithTimes } },
  }),
};
