/** The tenant is in the address, so a link says whose page it is: `/t/<tenant>/…`, or nothing for the default one. */
export const DEFAULT_TENANT = 'default';
const PREFIX = /^\/t\/([^/]+)/;

export function tenantOfPage(): string {
  return tenantOf(location.pathname);
}

export function tenantOf(path: string): string {
  const name = PREFIX.exec(path)?.[1];
  return name === undefined ? DEFAULT_TENANT : decodeURIComponent(name);
}

/** Where the pages of a tenant begin: `/`, or `/t/acme`. */
export function baseOf(tenant: string): string {
  return tenant === DEFAULT_TENANT ? '/' : `/t/${encodeURIComponent(tenant)}`;
}

/** The same page of another tenant; ids do not exist there, so a page of one becomes its list. */
export function samePageOf(tenant: string, path = location.pathname): string {
  const page = path.replace(PREFIX, '');
  const base = baseOf(tenant);
  return /^\/[a-z-]+$/.test(page) ? `${base === '/' ? '' : base}${page}` : base;
}
