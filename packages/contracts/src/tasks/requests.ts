import { z } from 'zod';
import { cursor, limit, name, time, wait } from '../values.ts';
import { DEVICE_WORDS, TASK_WORDS } from './statuses.ts';

/** Request schemas. */
const anId = z
  .string()
  .regex(/^[1-9]\d{0,17}$/)
  .describe('an id');
/** The upper limit is a setting, which pcs.ts checks. */
const slots = z
  .int()
  .min(1)
  .describe('How many devices it works on at once; 20 by default, at most MUSTER_MAX_SLOTS_PER_PC.');

export const newPc = z.strictObject({ name, slots: slots.optional() }).meta({ id: 'NewPc' });
export type NewPc = z.infer<typeof newPc>;
export const pcChange = z
  .strictObject({ name: name.optional(), slots: slots.optional() })
  .meta({ id: 'PcChange' });
export type PcChange = z.infer<typeof pcChange>;

/** Exactly one of the two. */
export const presence = z
  .union([
    z.strictObject({
      present: z
        .array(anId)
        .max(100_000)
        .describe('All present devices; every other device of the PC is absent.'),
    }),
    z.strictObject({
      devices: z
        .array(z.strictObject({ id: anId, present: z.boolean() }))
        .max(100_000)
        .describe('Changes these devices and leaves the others.'),
    }),
  ])
  .meta({ id: 'Presence' });
export type Presence = z.infer<typeof presence>;

/** Exactly one of the four. */
export const taskTargets = z
  .union([
    z.strictObject({ deviceIds: z.array(anId).min(1).max(1_000_000) }),
    z.strictObject({ pcIds: z.array(anId).min(1).max(100_000).describe('The devices of these PCs.') }),
    z.strictObject({ tags: z.array(name).min(1).max(100).describe('Devices that have all of them.') }),
    z.strictObject({ all: z.literal(true) }),
  ])
  .meta({ id: 'TaskTargets' });
export type TaskTargets = z.infer<typeof taskTargets>;

export const newTask = z
  .strictObject({
    name,
    kind: name,
    payload: z.unknown().optional(),
    targets: taskTargets,
    maxAttempts: z.int().min(1).max(1_000).optional().describe('3 by default.'),
    timeoutSeconds: z
      .int()
      .min(1)
      .max(604_800)
      .optional()
      .describe('How long one device may take; MUSTER_TASK_TIMEOUT_SECONDS by default.'),
    retryBackoffSeconds: z
      .int()
      .min(0)
      .max(86_400)
      .optional()
      .describe('Seconds before the second attempt, doubled for each further one; 0 by default.'),
    deadline: time.optional().describe('Devices not finished by then fail.'),
  })
  .meta({ id: 'NewTask' });
export type NewTask = z.infer<typeof newTask>;

export const taskQuery = z.strictObject({
  status: z.enum(TASK_WORDS).optional(),
  cursor: cursor.optional(),
  limit: limit.optional(),
});
export const taskDeviceQuery = z.strictObject({
  status: z.enum(DEVICE_WORDS).optional(),
  cursor: cursor.optional(),
  limit: limit.optional(),
});

const max = z
  .int()
  .min(1)
  .max(100)
  .describe('At most this many; by default as many as there are free slots.');
export const claimBody = z
  .strictObject({ max: max.optional(), wait: wait.optional() })
  .meta({ id: 'ClaimDevices' });
export type ClaimDevices = z.infer<typeof claimBody>;

const attempt = z
  .int()
  .min(1)
  .max(2_147_483_647)
  .describe('The attempt number that was handed out: the fence.');
const claim = z.strictObject({ max: max.optional() }).optional().describe('Also take the next work.');
export const completeBody = z
  .strictObject({ attempt, result: z.unknown().optional(), claim })
  .meta({ id: 'CompleteDevice' });
export type CompleteDevice = z.infer<typeof completeBody>;
export const failBody = z
  .strictObject({
    attempt,
    error: z.string(),
    timedOut: z
      .boolean()
      .optional()
      .describe(
        'It timed out: a TIMEOUT, as if the server had noticed first. The error is kept in its history.',
      ),
    claim,
  })
  .meta({ id: 'FailDevice' });
export type FailDevice = z.infer<typeof failBody>;
export const attemptBody = z.strictObject({ attempt }).meta({ id: 'AttemptOnly' });
export type AttemptOnly = z.infer<typeof attemptBody>;

export const pcHeartbeatBody = z
  .strictObject({
    taskDevices: z
      .array(
        z.strictObject({
          id: z.string(),
          attempt,
          stopping: z
            .boolean()
            .optional()
            .describe('It is already being stopped; do not end the wait for it.'),
        }),
      )
      .max(1_000),
    wait: wait.optional().describe('Seconds to wait for one of them to be cancelled or given up.'),
  })
  .meta({ id: 'PcHeartbeatRequest' });
export type PcHeartbeatRequest = z.infer<typeof pcHeartbeatBody>;
