import { z } from 'zod';
import { FAILED_REASONS } from './statuses.ts';

/**
 * The messages between the pipeline and a maker's layer, on two topics of the bus. The key of every message on both is
 * the UDID of its device, so messages about one device are taken in order. The tenant is the bus message's.
 */
export const COMMAND_TOPIC = 'command';
export const CHECKIN_TOPIC = 'checkin';

const udid = z.string().min(1).max(200);
const uuid = z.uuid();

/** Pipeline → maker's layer: have the device do this. */
export const commandMessage = z.strictObject({
  command_uuid: uuid,
  device_udid: udid,
  /** Hints; the maker's layer has newer ones. */
  push_token: z.string().nullable(),
  push_magic: z.string().nullable(),
  /** DeviceLock, ClearPasscode, RemoveProfile; SendMessage is a push to the companion app and no command. */
  request_type: z.string(),
  command_payload: z.strictObject({
    Message: z.string().optional(),
    PhoneNumber: z.string().optional(),
  }),
  /**
   * Not to be served from then on: its execution ends two seconds later. The same command again with an earlier time
   * was cancelled: what was not handed out yet must not be handed out.
   */
  expires_at: z.iso.datetime(),
  /** The sender does not wait for the device: a layer that knows that it cannot reach it says so at once. */
  fail_if_unreachable: z.boolean().optional(),
});
export type CommandMessage = z.infer<typeof commandMessage>;

const authenticated = z.object({
  /** The device whose enrolment it was. */
  device_id: z.string(),
  /** A released device comes back with a new enrolment: its unfinished actions end. */
  new_life: z.boolean().optional(),
  serial: z.string().nullish(),
  model: z.string().nullish(),
  os_version: z.string().nullish(),
});
const tokenUpdate = z.object({
  /** It awaits configuration, so it was wiped. */
  new_life: z.boolean().optional(),
  /** It is in its Setup Assistant; another such event reports that it has left it. */
  awaits_configuration: z.boolean().optional(),
  has_unlock_token: z.boolean().optional(),
});
const actionFailed = z.object({
  reason: z.enum(FAILED_REASONS),
  /** The device's own words. */
  error_chain: z.array(z.unknown()).nullish(),
  /** For a timeout: false if the device never fetched the command, which does not count as an attempt. */
  fetched: z.boolean().optional(),
  /** For a timeout: the device fetched the command and answered NotNow. */
  not_now: z.boolean().optional(),
  /** One of Muster's codes (NO_UNLOCK_TOKEN, MESSAGE_PUSH_NOT_CONFIGURED): trying again would not help. */
  code: z.string().nullish(),
});

const event = <Type extends string, Uuid extends z.ZodType, Payload extends z.ZodType>(
  type: Type,
  command_uuid: Uuid,
  payload: Payload,
) => z.strictObject({ event_type: z.literal(type), command_uuid, udid, payload });

/** Maker's layer → pipeline: what the device said or did. */
export const checkinEvent = z.discriminatedUnion('event_type', [
  event('ACTION_COMPLETED', uuid, z.object({})),
  event('ACTION_FAILED', uuid, actionFailed),
  event('DEVICE_AUTHENTICATED', z.null(), authenticated),
  event('DEVICE_TOKEN_UPDATE', z.null(), tokenUpdate),
  event('DEVICE_RELEASED', z.null(), z.object({})),
  event('DEVICE_CONNECTED', z.null(), z.object({})),
]);
export type CheckinEvent = z.infer<typeof checkinEvent>;
