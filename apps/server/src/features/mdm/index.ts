import type { CreateFeature } from '../../feature.ts';
import { createPushPart } from './push/index.ts';

/** Apple device management. */
export const mdm: CreateFeature = (shell) => {
  const push = createPushPart(shell);
  return {
    name: 'mdm',
    errors: push.errors,
    routes: [...push.routes],
    start: () => push.start(),
    stop: () => push.stop(),
  };
};
