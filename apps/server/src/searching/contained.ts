/** For `ilike`: whatever has this text in it, which is no pattern itself. */
export const contained = (text: string) => `%${text.replaceAll(/[\\%_]/g, '\\$&')}%`;
