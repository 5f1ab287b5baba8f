/** Which of the browser's sign-ins this page uses; known once the session has been read. */
let tenantId: string | undefined;

export function setTenant(id: string): void {
  tenantId = id;
}

export function tenantHeader(): Record<string, string> {
  return tenantId === undefined ? {} : { 'muster-tenant': tenantId };
}
