/** The form of a tenant's name, over HTTP and at the command line. */
export const TENANT_NAME = {
  form: /^[\p{L}\p{N}][\p{L}\p{N} ._-]*$/u,
  longest: 100,
  described: 'letters, digits, spaces, dots, dashes and underscores',
} as const;
