// A generator of requests to one route: the same one, several in turn, or reports, each with the claim of its lane's next action.

import { generate } from './drive.mjs';

/**
 * @typedef {{ method: string, path: string, body: string }} Request
 *
 * @typedef {object} Load
 * @property {number} port
 * @property {number} connections
 * @property {number} warmUpSeconds
 * @property {number} seconds
 * @property {Record<string, string>} headers
 * @property {Request} [same] the same request again and again
 * @property {Request[]} [each] or these in turn, on any free connection
 * @property {{ actionId: string, attempt: number, worker: string }[]} [leases] or reports, each with the next claim; each
 *   connection has lanes of its own
 * @property {number} [leaseSeconds]
 */

generate((/** @type {Load} */ load) => {
  const { each, same, leases, leaseSeconds } = load;
  const head = Object.entries({
    host: `127.0.0.1:${load.port}`,
    'content-type': 'application/json',
    ...load.headers,
  })
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');
  const written = (/** @type {string} */ method, /** @type {string} */ path, /** @type {string} */ body) =>
    `${method} ${path} HTTP/1.1\r\n${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
  const ofRequest = (/** @type {Request} */ { method, path, body }) => written(method, path, body);
  const isGood = (/** @type {string} */ answer) => /^HTTP\/1\.1 20[01]/.test(answer);

  if (same) {
    const request = ofRequest(same);
    return () => ({ next: () => request, take: isGood });
  }
  if (each) {
    let at = 0;
    return () => ({
      next() {
        at += 1;
        return ofRequest(/** @type {Request} */ (each[at % each.length]));
      },
      // a refusal over GraphQL is a 200 too
      take: (answer, body) => isGood(answer) && !answer.startsWith('{"errors"', body),
    });
  }
  return (n) => {
    const own = (leases ?? []).filter((_, at) => at % load.connections === n);
    let at = 0;
    return {
      next() {
        const lease = own[at];
        if (!lease) return null;
        return written(
          'POST',
          `/api/actions/${lease.actionId}/report`,
          `{"attempt":${lease.attempt},"status":"succeeded","worker":"${lease.worker}","next":{"worker":"${lease.worker}","leaseSeconds":${leaseSeconds}}}`,
        );
      },
      take(answer, body) {
        const { accepted, actions } = isGood(answer) ? JSON.parse(answer.slice(body)) : {};
        if (accepted !== true) return false;
        const lease = own[at];
        const [next] = actions;
        if (next && lease) {
          lease.actionId = next.id;
          lease.attempt = next.attempt;
          at = (at + 1) % own.length;
        } else {
          own.splice(at, 1);
          if (at >= own.length) at = 0;
        }
        return true;
      },
    };
  };
});
