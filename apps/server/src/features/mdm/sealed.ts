/** The purpose of each sealed value of a phone: it opens for no other. */
export const unlockToken = (tenantId: number, udid: string) => `unlock-token:${tenantId}:${udid}`;
export const bootstrapToken = (tenantId: number, udid: string) => `bootstrap-token:${tenantId}:${udid}`;
