/**
 * The server's own codes for how something ended, as sentences for people. What a worker or operator reported is not a code and is
 * shown unchanged.
 */
const SENTENCES: Readonly<Record<string, string>> = {
  ACTION_FAILED: 'Its action failed.',
  CALLBACK: 'Its time ended.',
  CANCELLED: 'It was cancelled.',
  DEADLINE: 'Its deadline passed before it was done.',
  DEVICE_DELETED: 'Its device was deleted.',
  EXPIRED: 'It was not handed out in time.',
  FAILED: 'It failed at every attempt, and no reason was given.',
  GENERATION: 'Its target was enrolled again, which cancelled everything assigned before.',
  LANE_BUSY: 'The lane was too busy to queue it.',
  LANE_FULL: 'The lane is full.',
  LATE: 'It was reported too late to count.',
  LEASE_END: 'Its time ended.',
  NOBODY_MEANT: 'No device matched.',
  NOT_ELIGIBLE: 'None of its devices could run it: they are absent, in error or without a PC.',
  NOT_NOW: 'It said “not now” until no attempt was left.',
  OPERATOR: 'An operator completed it.',
  RELEASED: 'It was released unfinished until no attempt was left.',
  SUPERSEDED: 'A newer one replaced it.',
  TIMEOUT: 'No report came in time, at every attempt.',
  UNKNOWN_DEVICE: 'There is no such device.',
  apns_bad_token: 'APNs rejects its push token.',
  apns_unregistered: 'APNs says that it is no longer registered.',
  device_error: 'The device answered with an error.',
  device_timeout: 'The device did not answer in time.',
  dispatch_failed: 'It could not be handed to the device.',
};

/** For one device, where the plural of a task would be wrong; and for one attempt instead of all. */
const OF_ONE: Readonly<Record<string, string>> = {
  NOT_ELIGIBLE: 'The device could not run it: absent, in error or without a PC.',
};
const OF_ATTEMPT: Readonly<Record<string, string>> = {
  FAILED: 'It failed, and no reason was given.',
  NOT_NOW: 'It said “not now”.',
  RELEASED: 'It was released unfinished.',
  TIMEOUT: 'No report came before the lease ended.',
};

/** A code as a sentence; anything else unchanged. */
export function endingOf(said: string, of?: 'one' | 'attempt'): string {
  const own = of === 'one' ? OF_ONE : of === 'attempt' ? OF_ATTEMPT : {};
  return own[said] ?? SENTENCES[said] ?? said;
}

export function isCode(said: string): boolean {
  return said in SENTENCES;
}

/** In quotes, unless it is a code. */
export function quoted(said: string): string {
  return isCode(said) ? endingOf(said) : `“${said}”`;
}
