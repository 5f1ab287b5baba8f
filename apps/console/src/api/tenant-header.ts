/** Which of the browser's sign-ins the requests of this page are made with: known once the session is read. */
let tenantId: string | undefined;

export function setTenant(id: string): void {
  tenantId = id;
}

export function tenantHeader(): Record<string, string> {
  return tenantId === undefined ? {} : { 'muster-tenant': tenantId };
}
