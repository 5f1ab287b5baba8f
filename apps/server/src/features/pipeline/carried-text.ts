import { httpError } from '../../http/errors.ts';

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what XML does not allow
const NOT_CARRIED = /[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/;

/**
 * Texts that go to devices, many of which speak XML: refused when they are given, not hours later when the device
 * connects.
 */
export function checkCarried(field: string, text: string): void {
  if (NOT_CARRIED.test(text))
    throw httpError(
      'MUSTER_BAD_REQUEST',
      `${field} has a control character, which cannot be sent to devices.`,
    );
}
