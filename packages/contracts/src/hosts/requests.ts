import { z } from 'zod';
import { targetActionsQuery } from '../actions/requests.ts';
import { attempt, cursor, headOfLine, limit, name, priority, targetQuery, time, wait } from '../values.ts';
import { HOST_STATUSES } from './statuses.ts';

/**
 * Request schemas. A unit is named as systemd allows it, without globs; an escape (\x2d) is written with two lower-case
 * digits.
 */
const UNIT = /^(?:[A-Za-z0-9_]|\\x[0-9a-f]{2})(?:[A-Za-z0-9:_.@-]|\\x[0-9a-f]{2}){0,250}$/;

const description = z.string().max(2_000);
const slots = z
  .int()
  .min(1)
  .max(10_000)
  .nullable()
  .describe('How many actions may run at once; null: no limit.');
const id = z.string();

export const hostParams = z.strictObject({ hostId: id });
export const serviceParams = z.strictObject({ hostId: id, serviceId: id });
export const actionParams = z.strictObject({ hostId: id, actionId: id });

export const newHost = z.strictObject({ name, slots: slots.optional() }).meta({ id: 'NewHost' });
export type NewHost = z.infer<typeof newHost>;
export const hostChange = z
  .strictObject({ name: name.optional(), slots: slots.optional() })
  .meta({ id: 'HostChange' });
export type HostChange = z.infer<typeof hostChange>;
export const enrolment = z
  .strictObject({
    name,
    secret: z
      .string()
      .regex(/^[\x21-\x7e]{32,200}$/)
      .describe('32 to 200 visible ASCII characters, generated and kept by the host')
      .optional(),
  })
  .meta({ id: 'HostEnrolment' });
export type HostEnrolment = z.infer<typeof enrolment>;

export const newService = z
  .strictObject({
    unitName: z.string().regex(UNIT).describe('the name of a systemd unit, such as nginx.service'),
    displayName: name.optional(),
    description: description.optional(),
  })
  .meta({ id: 'NewService' });
export type NewService = z.infer<typeof newService>;
export const serviceChange = z
  .strictObject({
    displayName: name.optional(),
    description: description.optional(),
  })
  .meta({ id: 'ServiceChange' });
export type ServiceChange = z.infer<typeof serviceChange>;

export const newAction = z
  .strictObject({
    serviceId: id,
    kind: z.enum(['start', 'stop', 'restart']),
    priority: priority.optional(),
    deliverBy: time.optional().describe('If it is not handed out by then, it expires.'),
    headOfLine: headOfLine
      .optional()
      .describe(
        'While it waits for its next attempt, later actions of the same service wait too (hold, the default) or pass it (skip).',
      ),
    maxAttempts: z.int().min(1).max(1_000).optional().describe('How many attempts; 3 by default.'),
    leaseSeconds: z
      .int()
      .min(1)
      .max(86_400)
      .optional()
      .describe('How long the lease lasts without a heartbeat; MUSTER_CONTROL_LEASE_SECONDS by default.'),
  })
  .meta({ id: 'NewHostAction' });
export type NewHostAction = z.infer<typeof newAction>;

export const actionQuery = z.strictObject({
  status: z.enum([...HOST_STATUSES, 'unfinished']).optional(),
  state: targetActionsQuery.shape.state,
  serviceId: id.optional(),
  limit: limit.optional(),
  cursor: cursor.optional(),
});
export const statsQuery = z.strictObject({
  stuckAfterSeconds: z
    .int()
    .min(1)
    .max(604_800)
    .optional()
    .describe('After this time a running action counts as stuck.'),
  ...targetQuery.shape,
});

/** The sentences for wrong values are fixed, so poll-parameters.ts parses the values, not this schema. */
export const pollQuery = z.looseObject({
  max: z
    .unknown()
    .optional()
    .describe('The most actions to return: a whole number from 1 to 10; 1 by default.'),
  wait: z
    .unknown()
    .optional()
    .describe('Seconds to wait for an action: a whole number from 0 to 25; 0 by default.'),
});

export const reportBody = z
  .strictObject({
    actionId: id,
    attempt: attempt.optional(),
    status: z.enum(['succeeded', 'failed']),
    final: z
      .boolean()
      .optional()
      .describe('For a failure: true if a retry would fail too; the action is not retried.'),
    exitCode: z.int().min(-2_147_483_648).max(4_294_967_295).optional(),
    message: z.string().max(10_000).optional(),
    output: z.string().optional().describe('The last 64 KiB are kept.'),
    next: pollQuery.optional().describe('Also take the next actions, as GET /api/control/queue does.'),
  })
  .meta({ id: 'HostReport' });
export type HostReport = z.infer<typeof reportBody>;
export const heartbeatBody = z
  .strictObject({
    actions: z
      .array(
        z.strictObject({
          id,
          attempt,
          stopping: z
            .boolean()
            .optional()
            .describe('It is already being stopped; do not end the wait for it.'),
        }),
      )
      .max(500),
    wait: wait.optional().describe('Seconds to wait for a cancellation before the heartbeat is recorded.'),
  })
  .meta({ id: 'HostHeartbeat' });
export type HostHeartbeat = z.infer<typeof heartbeatBody>;

export const hostsQuery = targetQuery;
