import { api } from '@muster/contracts';
import { limitsOf } from '../../config.ts';
import type { CreateFeature } from '../../feature.ts';
import { operators } from '../../http/access.ts';
import { defineRoute } from '../../http/define-route.ts';

/** All limits and retention times, to explain why something was refused, has ended or is gone. */
export const limits: CreateFeature = ({ config }) => ({
  name: 'limits',
  routes: [
    defineRoute(api.limits.list, {
      access: operators('viewer'),
      handler: async () => ({ limits: limitsOf(config) }),
    }),
  ],
});
