/**
 * The wait before a retry: doubled each time, at most the maximum, spread by ±20 % by a hash of action and number
 * instead of a random number. The hash is PostgreSQL's for 64-bit integers: Bob Jenkins' final mixing of one word.
 */
export function backoff(base: number, max: number, nth: number, actionId: string): number {
  const spread = (hashInt8(BigInt(actionId) * 31n + BigInt(nth)) & 65535) / 65535;
  const wait = Math.min(Math.min(base * 2 ** (Math.min(nth, 30) - 1), max) * (0.8 + 0.4 * spread), max);
  return Math.round(wait);
}

const rotate = (word: number, by: number) => (word << by) | (word >>> (32 - by));

function hashInt8(value: bigint): number {
  const low = Number(BigInt.asUintN(32, value));
  const high = Number(BigInt.asUintN(32, value >> 32n));
  const word = (low ^ (value >= 0n ? high : ~high)) | 0;
  const start = (0x9e3779b9 + 4 + 3923095) | 0;
  let [a, b, c] = [(start + word) | 0, start, start];
  c = ((c ^ b) - rotate(b, 14)) | 0;
  a = ((a ^ c) - rotate(c, 11)) | 0;
  b = ((b ^ a) - rotate(a, 25)) | 0;
  c = ((c ^ b) - rotate(b, 16)) | 0;
  a = ((a ^ c) - rotate(c, 4)) | 0;
  b = ((b ^ a) - rotate(a, 14)) | 0;
  c = ((c ^ b) - rotate(b, 24)) | 0;
  return c;
}
