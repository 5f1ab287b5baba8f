import type { PhoneRow } from './phones.ts';

/** A phone as operators see it: no token of it, only that there is one. */
export function wirePhone(phone: PhoneRow) {
  return {
    id: phone.deviceId,
    udid: phone.udid,
    byod: phone.byod,
    serial: phone.serial,
    model: phone.facts.productName ?? phone.facts.model ?? null,
    osVersion: phone.facts.osVersion ?? null,
    topic: phone.topic,
    canBeUnlocked: phone.sealedUnlockToken !== null,
    authenticatedAt: phone.authenticatedAt,
    enrolledAt: phone.enrolledAt,
    releasedAt: phone.releasedAt,
  };
}
