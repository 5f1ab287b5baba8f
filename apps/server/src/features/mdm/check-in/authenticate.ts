import type { Queryable } from '@muster/engine';
import type { Authenticate, Identity } from '@muster/mdm';
import type { EnrolmentRow } from '../enrolments.ts';
import { refused } from '../errors.ts';
import type { PhoneEvent } from '../events.ts';
import type { PhoneRow } from '../phones.ts';
import type { CheckInTools } from './tools.ts';

/**
 * A phone begins. Which device it is, its enrolment says, by the name in its certificate or by the address in its profile.
 *
 *   unknown phone ────────────────────► first life
 *   known, same device, not released ─► renewal: the new certificate is added, nothing else changes
 *   known, released, new enrolment ───► new life: what was kept of the old one is forgotten
 *   anything else ────────────────────► refused: nobody takes over a phone by saying its UDID
 */
export function createAuthenticate(tools: CheckInTools) {
  const { commands, enrolments, fleet, phones, publish, pushes } = tools;

  async function enrolmentOf(
    tx: Queryable,
    tenantId: number,
    identity: Identity,
    addressed: string | null,
  ): Promise<EnrolmentRow> {
    const named = commonNameOf(identity);
    const byName = named === null ? null : await enrolments.find(tx, tenantId, named);
    const byAddress = addressed === null ? null : await enrolments.find(tx, tenantId, addressed);
    if (byName && byAddress && byName.enrolmentId !== byAddress.enrolmentId)
      throw refused('The certificate is of another enrolment than the address.');
    const found = byName ?? byAddress;
    if (!found) throw refused('This enrolment is not known.');
    return found;
  }

  /** Whether it is a new life; throws if it may not be one at all. */
  function beginningOf(
    known: PhoneRow | null,
    enrolment: EnrolmentRow,
    udid: string,
  ): 'first' | 'renewal' | 'new' {
    if (enrolment.udid !== null && enrolment.udid !== udid)
      throw refused('This enrolment was used by another phone.');
    if (!known) return 'first';
    if (known.releasedAt !== null) {
      if (enrolment.udid !== null) throw refused('The phone was released: it needs a new enrolment.');
      return 'new';
    }
    if (known.deviceId !== enrolment.deviceId) throw refused('The phone is enrolled as another device.');
    return 'renewal';
  }

  return async (
    tx: Queryable,
    tenantId: number,
    identity: Identity,
    message: Authenticate,
    addressed: string | null,
  ): Promise<void> => {
    const { deviceId: udid, byod, user } = message.channel;
    if (user) return;
    const enrolment = await enrolmentOf(tx, tenantId, identity, addressed);
    const { deviceId } = enrolment;
    const laneId = await fleet.laneOf(tx, tenantId, deviceId).catch(() => {
      throw refused('The device of this enrolment was deleted.');
    });
    const known = await phones.lock(tx, tenantId, udid);
    const beginning = beginningOf(known, enrolment, udid);
    const events: PhoneEvent[] = [];
    let isNewLife = beginning === 'new';

    // another phone that was this device, or the same one of somebody's own under its former id
    const former = await phones.ofDevice(tx, tenantId, deviceId);
    if (former && former.udid !== udid) {
      if (enrolment.udid !== null) throw refused('Another phone is this device now.');
      await phones.forget(tx, tenantId, former.udid);
      await pushes.forget(tx, tenantId, deviceId);
      isNewLife = true;
    }
    await phones.put(tx, tenantId, {
      ...{ udid, deviceId, laneId, enrolmentId: enrolment.enrolmentId, byod, topic: message.topic },
      ...{ serial: message.serialNumber, facts: factsOf(message) },
    });
    if (beginning === 'new') {
      await commands.closeAll(tx, tenantId, udid);
      await phones.change(tx, tenantId, udid, {
        ...{ sealedUnlockToken: null, sealedBootstrapToken: null, enrolledAt: null, tokenUpdatedAt: null },
        releasedAt: null,
      });
    }
    if (!(await phones.pin(tx, tenantId, identity.hash, udid)))
      throw refused('The certificate is that of another phone.');
    await enrolments.used(tx, tenantId, enrolment.enrolmentId, udid);
    const model = message.productName ?? message.model;
    events.push({
      type: 'DEVICE_AUTHENTICATED',
      udid,
      payload: {
        ...{ device_id: deviceId, new_life: isNewLife, serial: message.serialNumber, model },
        os_version: message.osVersion,
      },
    });
    await publish(tx, tenantId, events);
  };
}

function factsOf(message: Authenticate): Record<string, string | null> {
  const { osVersion, buildVersion, productName, model, modelName, deviceName, imei, meid } = message;
  return { osVersion, buildVersion, productName, model, modelName, deviceName, imei, meid };
}

/** `O=Muster\nCN=…` as Node writes it. */
function commonNameOf({ certificate }: Identity): string | null {
  const names = certificate.subject.split('\n').filter((part) => part.startsWith('CN='));
  return names.length === 1 ? (names[0] as string).slice(3) : null;
}
