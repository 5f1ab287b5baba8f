import { type Database, type Queryable, type Transaction, whileLocked } from '@muster/engine';
import { buildPlist, type CheckIn, type Identity, parseCheckIn } from '@muster/mdm';
import { mdmError, refused } from '../errors.ts';
import type { PhoneRow } from '../phones.ts';
import * as sealed from '../sealed.ts';
import { createAuthenticate } from './authenticate.ts';
import { createTokenUpdate } from './token-update.ts';
import type { CheckInTools } from './tools.ts';

/** The id of a device must fit into a message of the bus. */
const LONGEST_UDID = 200;
const NOTHING = Buffer.alloc(0);

/** Check-ins of phones, each in one transaction with the messages it sends. Returns the body of the answer. */
export function createCheckIns(db: Database, tools: CheckInTools) {
  const { contacts, lives, phones, publish, secrets } = tools;
  const authenticate = createAuthenticate(tools);
  const tokenUpdate = createTokenUpdate(tools);

  /** The phone with this certificate, locked. */
  async function pinned(
    tx: Queryable,
    tenantId: number,
    { hash }: Identity,
    udid: string,
  ): Promise<PhoneRow> {
    if ((await phones.ownerOf(tx, tenantId, hash)) !== udid)
      throw refused('The certificate does not belong to this phone.');
    const phone = await phones.lock(tx, tenantId, udid);
    if (!phone) throw refused('This phone is unknown.');
    return phone;
  }

  async function run(
    tx: Transaction,
    tenantId: number,
    identity: Identity,
    message: CheckIn,
    addressed: string | null,
  ) {
    if (message.type === 'Authenticate') {
      await authenticate(tx, tenantId, identity, message, addressed);
      return NOTHING;
    }
    const { deviceId: udid, user } = message.channel;
    const phone = await pinned(tx, tenantId, identity, udid);
    // a user of the device has separate tokens, which must never replace the device's; nothing is sent to users
    if (user) return NOTHING;
    tx.afterCommit(() => contacts.heardOf(tenantId, phone.deviceId));
    switch (message.type) {
      case 'TokenUpdate':
        await tokenUpdate(tx, tenantId, phone, message);
        return NOTHING;
      case 'CheckOut':
        await publish(tx, tenantId, await lives.leave(tx, tenantId, udid));
        return NOTHING;
      case 'SetBootstrapToken': {
        const { bootstrapToken: token } = message;
        const purpose = sealed.bootstrapToken(tenantId, udid);
        await phones.change(tx, tenantId, udid, {
          sealedBootstrapToken: token ? secrets.seal(token, purpose) : null,
        });
        return NOTHING;
      }
      case 'GetBootstrapToken': {
        const { sealedBootstrapToken: kept } = phone;
        if (!kept) return NOTHING;
        return buildPlist({ BootstrapToken: secrets.open(kept, sealed.bootstrapToken(tenantId, udid)) });
      }
      default:
        throw refused('This message type is not supported.');
    }
  }

  return async (
    tenantId: number,
    identity: Identity,
    body: Buffer,
    addressed: string | null,
  ): Promise<Buffer> => {
    const message = parseCheckIn(body);
    if (message.type === 'Unknown')
      throw refused(`Messages of the type ${message.messageType} are not supported.`);
    if (message.channel.deviceId.length > LONGEST_UDID) throw refused('The id of the device is too long.');
    if (message.type === 'UserAuthenticate')
      throw mdmError('MUSTER_MDM_USER_NOT_MANAGED', 'Users are not managed here.');
    return whileLocked(db, (tx) => run(tx, tenantId, identity, message, addressed));
  };
}

export type CheckIns = ReturnType<typeof createCheckIns>;
