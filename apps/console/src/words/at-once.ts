/** How many are changed at once without a confirmation. */
export const AT_ONCE = 100;
