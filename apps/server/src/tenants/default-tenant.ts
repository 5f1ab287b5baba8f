/** The tenant that is always there. */
export const DEFAULT_TENANT = 1;
export const DEFAULT_TENANT_NAME = 'default';
