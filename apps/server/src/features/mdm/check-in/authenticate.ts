import type { Queryable, Transaction } from '@muster/engine';
import type { Authenticate, Identity } from '@muster/mdm';
import { type EnrolmentRow, isEnrolmentId } from '../enrolments.ts';
import { refused } from '../errors.ts';
import type { PhoneEvent } from '../events.ts';
import type { PhoneRow } from '../phones.ts';
import type { CheckInTools } from './tools.ts';

/**
 * A phone authenticates. Its enrolment tells which device it is, by the name in its certificate or by the address in
 * its profile.
 *
 *   unknown phone ────────────────────► first life
 *   known, same device, not released ─► renewal: the new certificate is added, nothing else changes. With an enrolment that
 *                                       it has used, the certificate must be one of its own, or have the enrolment's name
 *   known, released or erased, new enrolment
 *                                 ────► new life: what was kept of the old one is deleted
 *   anything else ────────────────────► refused: knowing a UDID is not enough to take over a phone
 */
export function createAuthenticate(tools: CheckInTools) {
  const { contacts, enrolments, fleet, lives, phones, publish, pushes } = tools;

  /**
   * A certificate with the name of an enrolment is valid for that enrolment only; the address counts for certificates
   * of other authorities.
   */
  async function enrolmentOf(
    tx: Queryable,
    tenantId: number,
    named: string | null,
    addressed: string | null,
  ): Promise<EnrolmentRow> {
    const ofCertificate = named !== null && isEnrolmentId(named) ? named : null;
    if (ofCertificate !== null && addressed !== null && ofCertificate !== addressed)
      throw refused('The certificate belongs to another enrolment than the URL.');
    const enrolmentId = ofCertificate ?? addressed;
    const found = enrolmentId === null ? null : await enrolments.find(tx, tenantId, enrolmentId);
    if (!found) throw refused('This enrolment is unknown.');
    return found;
  }

  /** Whether a new life begins; throws if the phone may not authenticate at all. */
  function beginningOf(
    known: PhoneRow | null,
    enrolment: EnrolmentRow,
    udid: string,
    isItsCertificate: boolean,
  ): 'first' | 'renewal' | 'new' {
    if (enrolment.udid !== null && enrolment.udid !== udid)
      throw refused('This enrolment was used by another phone.');
    // its address is not a secret once a phone has used it
    if (enrolment.udid !== null && !isItsCertificate)
      throw refused('The certificate belongs neither to this phone nor to its enrolment.');
    if (!known) return 'first';
    if (known.releasedAt !== null) {
      if (enrolment.udid !== null) throw refused('The phone was released and needs a new enrolment.');
      return 'new';
    }
    if (known.deviceId !== enrolment.deviceId) throw refused('The phone is enrolled as another device.');
    return known.erasedAt !== null && enrolment.udid === null ? 'new' : 'renewal';
  }

  return async (
    tx: Transaction,
    tenantId: number,
    identity: Identity,
    message: Authenticate,
    addressed: string | null,
  ): Promise<void> => {
    const { deviceId: udid, byod, user } = message.channel;
    if (user) return;
    if (!(await pushes.knowsTopic(tx, tenantId, message.topic)))
      throw refused('There is no push certificate for this topic.');
    const named = commonNameOf(identity);
    const enrolment = await enrolmentOf(tx, tenantId, named, addressed);
    const { deviceId } = enrolment;
    const laneId = await fleet.laneOf(tx, tenantId, deviceId).catch(() => {
      throw refused('The device of this enrolment was deleted.');
    });
    const known = await phones.lock(tx, tenantId, udid);
    const isItsCertificate =
      named === enrolment.enrolmentId || (await phones.ownerOf(tx, tenantId, identity.hash)) === udid;
    const beginning = beginningOf(known, enrolment, udid, isItsCertificate);
    const events: PhoneEvent[] = [];
    let isNewLife = beginning === 'new';

    // another phone that was this device, or this phone under the former id of its user enrolment
    const former = await phones.ofDevice(tx, tenantId, deviceId);
    if (former && former.udid !== udid) {
      if (enrolment.udid !== null) throw refused('Another phone is enrolled as this device now.');
      await phones.forget(tx, tenantId, former.udid);
      await pushes.forget(tx, tenantId, deviceId);
      await fleet.notePhoneReplaced(tx, tenantId, deviceId);
      isNewLife = true;
    }
    await phones.put(tx, tenantId, {
      ...{ udid, deviceId, laneId, enrolmentId: enrolment.enrolmentId, byod, topic: message.topic },
      ...{ serial: message.serialNumber, facts: factsOf(message) },
    });
    if (isNewLife) await lives.begin(tx, tenantId, { udid, laneId });
    if (beginning === 'new') {
      await phones.change(tx, tenantId, udid, {
        ...{ sealedUnlockToken: null, sealedBootstrapToken: null, enrolledAt: null, tokenUpdatedAt: null },
        releasedAt: null,
      });
    }
    if (!(await phones.pin(tx, tenantId, udid, identity)))
      throw refused('The certificate belongs to another phone.');
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
    tx.afterCommit(() => contacts.heardOf(tenantId, deviceId));
  };
}

function factsOf(message: Authenticate): Record<string, string | null> {
  const { osVersion, buildVersion, productName, model, modelName, deviceName, imei, meid } = message;
  return { osVersion, buildVersion, productName, model, modelName, deviceName, imei, meid };
}

/** Parses `O=Muster\nCN=…`, as Node writes it. */
function commonNameOf({ certificate }: Identity): string | null {
  const names = certificate.subject.split('\n').filter((part) => part.startsWith('CN='));
  return names.length === 1 ? (names[0] as string).slice(3) : null;
}
