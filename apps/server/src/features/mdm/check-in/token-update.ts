import { randomUUID } from 'node:crypto';
import type { Queryable } from '@muster/engine';
import type { TokenUpdate } from '@muster/mdm';
import { refused } from '../errors.ts';
import type { PhoneRow } from '../phones.ts';
import * as sealed from '../sealed.ts';
import type { CheckInTools } from './tools.ts';

/**
 * A phone sends its push token; with the first one it is enrolled. A phone in its Setup Assistant was wiped: the first
 * such message after its Authenticate begins a new life. The same message may come twice.
 */
export function createTokenUpdate(tools: CheckInTools) {
  const { arrivals, commands, lives, now, phones, publish, pushes, secrets } = tools;

  return async (tx: Queryable, tenantId: number, phone: PhoneRow, message: TokenUpdate): Promise<void> => {
    const { udid, deviceId } = phone;
    const { awaitingConfiguration, pushMagic: magic, token, topic, unlockToken } = message;
    if (phone.releasedAt !== null) throw refused('The phone was released and needs a new enrolment.');
    // a push with another topic would fail, and would stop the pushes of a topic that is not ours
    if (topic !== phone.topic) throw refused('The topic differs from that of its Authenticate.');
    const isFirst = phone.tokenUpdatedAt === null;
    const isNewLife = awaitingConfiguration && isFirst && phone.enrolledAt !== null;
    if (isNewLife) await lives.begin(tx, tenantId, phone);
    await phones.change(tx, tenantId, udid, {
      topic,
      tokenUpdatedAt: now(),
      enrolledAt: isNewLife || phone.enrolledAt === null ? now() : phone.enrolledAt,
      // a missing value leaves the stored one
      ...(unlockToken
        ? { sealedUnlockToken: secrets.seal(unlockToken, sealed.unlockToken(tenantId, udid)) }
        : isNewLife
          ? { sealedUnlockToken: null }
          : {}),
      ...(isNewLife ? { sealedBootstrapToken: null } : {}),
    });
    await pushes.tokenIs(tx, tenantId, deviceId, { token, magic, topic });
    const hasToken = unlockToken !== null || (!isNewLife && phone.sealedUnlockToken !== null);
    await publish(tx, tenantId, [
      {
        ...{ type: 'DEVICE_TOKEN_UPDATE', udid },
        payload: {
          new_life: isNewLife,
          has_unlock_token: hasToken,
          ...(awaitingConfiguration ? { awaits_configuration: true } : {}),
        },
      },
    ]);
    if (!awaitingConfiguration || !isFirst) return;
    await commands.add(tx, tenantId, [
      { udid, commandUuid: randomUUID(), source: 'own', requestType: 'DeviceConfigured', payload: {} },
    ]);
    await pushes.want(tx, tenantId, [deviceId]);
    await arrivals.tell(tx, tenantId, [udid]);
  };
}
