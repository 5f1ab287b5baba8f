// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that XML does not allow
const FORBIDDEN = /[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/;

/** Where a text has a character that XML cannot carry, or -1. */
export const forbiddenIn = (text: string) => text.search(FORBIDDEN);
