/**
 * The server's own words for how something ended, where nobody has said anything: each is a sentence for people. What a worker or
 * an operator has said is no code and stays as it was said.
 */
const SENTENCES: Readonly<Record<string, string>> = {
  ACTION_FAILED: 'Its action failed.',
  CALLBACK: 'Its time was over.',
  CANCELLED: 'It was cancelled.',
  DEADLINE: 'Its deadline passed before it was done.',
  DEVICE_DELETED: 'Its device was deleted.',
  EXPIRED: 'It was not handed out in time.',
  FAILED: 'It failed at every attempt, without saying why.',
  GENERATION: 'Its target was enrolled anew: what was assigned before is over.',
  LANE_BUSY: 'The lane was too busy to queue it.',
  LANE_FULL: 'The lane is full: too much waits in it already.',
  LATE: 'It was reported too late to count.',
  LEASE_END: 'Its time was over.',
  NOBODY_MEANT: 'No device is meant.',
  NOT_ELIGIBLE: 'None of its devices could take it: they are absent, in error or without a PC.',
  NOT_NOW: 'It said “not now” until no attempt was left.',
  OPERATOR: 'An operator completed it.',
  RELEASED: 'It was given back unfinished until no attempt was left.',
  SUPERSEDED: 'A newer one took its place.',
  TIMEOUT: 'No report came in time, at every attempt.',
  UNKNOWN_DEVICE: 'There is no such device.',
  apns_bad_token: 'APNs refuses its push token.',
  apns_unregistered: 'APNs says that it is no longer registered.',
  device_error: 'The device answered with an error.',
  device_timeout: 'The device did not answer in time.',
  dispatch_failed: 'It could not be handed to the device.',
};

/** Of one device, where the plural of a task would be wrong; and of one attempt, which is not every one. */
const OF_ONE: Readonly<Record<string, string>> = {
  NOT_ELIGIBLE: 'It could not take it: absent, in error or without a PC.',
};
const OF_ATTEMPT: Readonly<Record<string, string>> = {
  FAILED: 'It failed without saying why.',
  NOT_NOW: 'It said “not now”.',
  RELEASED: 'It was given back unfinished.',
  TIMEOUT: 'No report came before the lease was over.',
};

/** A code as a sentence; anything else as it is. */
export function endingOf(said: string, of?: 'one' | 'attempt'): string {
  const own = of === 'one' ? OF_ONE : of === 'attempt' ? OF_ATTEMPT : {};
  return own[said] ?? SENTENCES[said] ?? said;
}

export function isCode(said: string): boolean {
  return said in SENTENCES;
}

/** In quotes if somebody has said it. */
export function quoted(said: string): string {
  return isCode(said) ? endingOf(said) : `“${said}”`;
}
