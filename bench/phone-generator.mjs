// A generator of phones that report a command and get the next one. Their messages are built before anything is counted.

import { generate } from './drive.mjs';
import { acknowledged, commandUuid, signer } from './phones.mjs';

/**
 * @typedef {object} Phones
 * @property {number} port
 * @property {number} connections
 * @property {number} warmUpSeconds
 * @property {number} seconds
 * @property {number} commands of each
 * @property {{ udid: string, header: string, signed: string | null }[]} phones header: its certificate, as a proxy tells it;
 *   signed: a signature of it over anything, in base64, if it signs instead
 * @property {string} key of the phones, in PEM
 */

generate((/** @type {Phones} */ crowd, state) => {
  const requests = crowd.phones.map((phone) => requestsOf(crowd, phone));
  return (n) => {
    const phones = requests.filter((_phone, at) => at % crowd.connections === n);
    // round by round, so that a phone comes again only after all others of its connection
    const own = Array.from({ length: crowd.commands - 1 }, (_round, round) =>
      phones.map((phone) => /** @type {(typeof phone)[number]} */ (phone[round])),
    ).flat();
    let at = 0;
    return {
      next: () => own[at]?.request ?? null,
      take(answer) {
        if (!answer.startsWith('HTTP/1.1 200') || !answer.includes(`<string>${own[at]?.next}</string>`))
          return false;
        at += 1;
        if (at >= own.length && !state.over) state.dry = true;
        return true;
      },
    };
  };
});

/**
 * Everything that a phone will send, and the answers it must get.
 * @param {Phones} crowd @param {Phones['phones'][number]} phone
 */
function requestsOf({ commands, key, port }, { udid, header, signed }) {
  const signs = signed === null ? null : signer(Buffer.from(signed, 'base64'), key);
  return Array.from({ length: commands - 1 }, (_, n) => {
    const body = acknowledged(udid, commandUuid(udid, n));
    const identity = signs ? `mdm-signature: ${signs(body)}` : `x-client-cert: ${header}`;
    const head = `PUT /mdm HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\ncontent-type: application/x-apple-aspen-mdm; charset=UTF-8\r\n${identity}\r\ncontent-length: ${body.length}\r\n\r\n`;
    return { request: head + body, next: commandUuid(udid, n + 1) };
  });
}
