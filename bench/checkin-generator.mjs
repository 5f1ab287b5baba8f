// A generator of check-ins: every device has its own token, reports its last action and gets the next one.

import { generate } from './drive.mjs';
import { checkInText } from './fleet.mjs';

/**
 * @typedef {{ deviceId: number, actionId?: string, attempt?: number }} Hands
 * @typedef {object} Crowd
 * @property {number} port
 * @property {number} connections
 * @property {number} warmUpSeconds
 * @property {number} seconds
 * @property {Hands[]} devices
 */

generate((/** @type {Crowd} */ { port, connections, devices }, state) => (n) => {
  const own = devices.filter((_device, at) => at % connections === n);
  let at = 0;
  const device = () => /** @type {Hands} */ (own[at % own.length]);
  return {
    next() {
      return checkInText(port, device());
    },
    take(answer, start) {
      const { action, result } = answer.startsWith('HTTP/1.1 200') ? JSON.parse(answer.slice(start)) : {};
      if (action === undefined || (device().actionId && result && !result.accepted)) return false;
      if (!action && !state.over) state.dry = true;
      // a queue without results returns no attempt
      if (action?.attempt) Object.assign(device(), { actionId: action.id, attempt: action.attempt });
      at += 1;
      return true;
    },
  };
});
