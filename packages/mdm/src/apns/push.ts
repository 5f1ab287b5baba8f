/** What is sent to APNs: a wake-up for a device, or a message for an app on it. */
import { MdmError } from '../mdm-error.ts';

export interface Push {
  /** In lower-case hex, as in the URL. */
  readonly token: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

interface Common {
  readonly token: Uint8Array;
  readonly topic: string;
  readonly now: Date;
  /** A canonical UUID; APNs returns it. */
  readonly apnsId: string;
  readonly days?: number;
}

/** APNs keeps a push for an absent device this long; with one day, pushes were lost over weekends. */
const DAYS_KEPT = 7;
const MOST_BYTES = 4_096;

/** Wakes a device up: it connects and asks. It carries nothing else, so sending it twice does no harm. */
export function mdmPush({ pushMagic, ...common }: Common & { readonly pushMagic: string }): Push {
  return push('mdm', common, { mdm: pushMagic });
}

/** Shows a message. A device management push cannot carry one, so it goes to an app with a token of its own. */
export function alertPush({
  message,
  title,
  ...common
}: Common & { readonly message: string; readonly title?: string }): Push {
  return push('alert', common, {
    aps: { alert: title === undefined ? { body: message } : { title, body: message } },
  });
}

function push(
  type: 'mdm' | 'alert',
  { token, topic, now, apnsId, days = DAYS_KEPT }: Common,
  payload: object,
): Push {
  const body = Buffer.from(JSON.stringify(payload));
  if (body.byteLength > MOST_BYTES)
    throw new MdmError(
      'PUSH_TOO_LARGE',
      `A push can have at most ${MOST_BYTES} bytes; this one has ${body.byteLength}.`,
    );
  return {
    token: Buffer.from(token).toString('hex'),
    headers: {
      'apns-push-type': type,
      'apns-topic': topic,
      'apns-priority': '10',
      'apns-expiration': String(Math.floor(now.getTime() / 1_000) + days * 24 * 60 * 60),
      'apns-id': apnsId,
    },
    body,
  };
}
