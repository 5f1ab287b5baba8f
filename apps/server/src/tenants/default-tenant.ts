/** The tenant that always exists. */
export const DEFAULT_TENANT = 1;
export const DEFAULT_TENANT_NAME = 'default';
