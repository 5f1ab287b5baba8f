/** What each sealed value of a phone is for: it opens at no other place. */
export const unlockToken = (tenantId: number, udid: string) => `unlock-token:${tenantId}:${udid}`;
export const bootstrapToken = (tenantId: number, udid: string) => `bootstrap-token:${tenantId}:${udid}`;
