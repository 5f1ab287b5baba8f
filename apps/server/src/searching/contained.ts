/** For `ilike`: a pattern for everything that contains this text, whose own wildcards are escaped. */
export const contained = (text: string) => `%${text.replaceAll(/[\\%_]/g, '\\$&')}%`;
