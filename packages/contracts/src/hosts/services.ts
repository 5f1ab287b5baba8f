import { endpoint } from '../endpoint.ts';
import { service, serviceList } from './answers.ts';
import { hostParams, newService, serviceChange, serviceParams } from './requests.ts';

/** The services of a host. */
export const services = {
  create: endpoint({
    method: 'POST',
    path: '/api/hosts/:hostId/services',
    summary: 'Add a service to a host',
    params: hostParams,
    body: newService,
    responses: { 201: { description: 'Added.', schema: service } },
  }),
  list: endpoint({
    method: 'GET',
    path: '/api/hosts/:hostId/services',
    summary: 'List the services of a host',
    params: hostParams,
    responses: { 200: { description: 'All services.', schema: serviceList } },
  }),
  get: endpoint({
    method: 'GET',
    path: '/api/hosts/:hostId/services/:serviceId',
    summary: 'Get a service',
    params: serviceParams,
    responses: { 200: { description: 'The service.', schema: service } },
  }),
  update: endpoint({
    method: 'PATCH',
    path: '/api/hosts/:hostId/services/:serviceId',
    summary: 'Rename a service; its unit cannot change',
    params: serviceParams,
    body: serviceChange,
    responses: { 200: { description: 'The service.', schema: service } },
  }),
  remove: endpoint({
    method: 'DELETE',
    path: '/api/hosts/:hostId/services/:serviceId',
    summary: 'Delete a service; its unfinished actions are cancelled',
    params: serviceParams,
    responses: { 204: { description: 'Deleted.' } },
  }),
};
