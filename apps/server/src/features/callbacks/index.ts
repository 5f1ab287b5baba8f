import { CALLBACK_ERRORS } from '@muster/contracts/words';
import { CALLBACKS } from '../../callbacks/message.ts';
import type { CreateFeature } from '../../feature.ts';
import { keyRoutes } from './key-routes.ts';
import { letterRoutes } from './letter-routes.ts';
import { messageRoutes } from './message-routes.ts';
import { publishRoutes } from './publish-routes.ts';

/** Callbacks for everybody, by QStash's interface: its client and its receiver are used as they are. */
export const callbacks: CreateFeature = Object.assign(
  (shell: Parameters<CreateFeature>[0]) => ({
    name: 'callbacks',
    errors: CALLBACK_ERRORS,
    routes: [...publishRoutes(shell), ...messageRoutes(shell), ...letterRoutes(shell), ...keyRoutes(shell)],
  }),
  { lanesOfNobody: [CALLBACKS] },
);
