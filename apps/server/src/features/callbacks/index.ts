import { CALLBACK_ERRORS } from '@muster/contracts/words';
import { CALLBACKS, OWN_CALL } from '../../callbacks/message.ts';
import { MusterError } from '../../errors.ts';
import type { CreateFeature, Feature, Shell } from '../../feature.ts';
import { callbackError } from './errors.ts';
import { keyRoutes } from './key-routes.ts';
import { letterRoutes } from './letter-routes.ts';
import { messageRoutes } from './message-routes.ts';
import { publishRoutes } from './publish-routes.ts';

/** Other interfaces that the QStash client can call. */
const NOT_OFFERED = [
  ...['enqueue', 'flowControl', 'globalParallelism', 'queues', 'schedules', 'topics', 'workflows'],
];

/** Callbacks by QStash's interface: its client and its receiver work unchanged. */
function create(shell: Shell): Feature {
  // a message was checked when it was published, and it is signed: a copy could have any content
  shell.copying.refuse(
    CALLBACKS,
    () => new MusterError('MUSTER_NOT_COPIED', 409, 'Callbacks cannot be copied. Publish the message again.'),
  );
  // they report that a time is over, so their time must not change
  shell.moving.keepTime(
    { channel: CALLBACKS, kind: OWN_CALL },
    () => new MusterError('MUSTER_NOT_MADE_DUE', 409, 'Calls of the server to itself cannot be made due.'),
  );
  return {
    name: 'callbacks',
    errors: CALLBACK_ERRORS,
    notOffered: {
      folders: NOT_OFFERED.map((name) => `/v2/${name}`),
      refusal: (folder) => callbackError('MUSTER_NOT_OFFERED', `Muster does not offer ${folder}.`),
    },
    routes: [...publishRoutes(shell), ...messageRoutes(shell), ...letterRoutes(shell), ...keyRoutes(shell)],
  };
}

export const callbacks: CreateFeature = Object.assign(create, { lanesOfNobody: [CALLBACKS] });
