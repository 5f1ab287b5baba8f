/** So many are changed at once; before more than that a person is asked. */
export const AT_ONCE = 100;
