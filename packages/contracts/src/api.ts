import { actions } from './actions/endpoints.ts';
import { audit } from './audit.ts';
import { batches } from './batches/endpoints.ts';
import { callbacks } from './callbacks/endpoints.ts';
import { checkin } from './checkin/endpoints.ts';
import { live } from './console/live.ts';
import { overviews } from './console/overview.ts';
import { session } from './console/session.ts';
import { feed } from './feed/endpoints.ts';
import { devices } from './fleet/endpoints.ts';
import { control } from './hosts/control.ts';
import { hosts } from './hosts/endpoints.ts';
import { hostActions } from './hosts/host-actions.ts';
import { services } from './hosts/services.ts';
import { limits } from './limits.ts';
import { mdm } from './mdm/endpoints.ts';
import { bots, orders } from './orders/endpoints.ts';
import { pipeline } from './pipeline/endpoints.ts';
import { push } from './push/endpoints.ts';
import { nanomdm } from './push/nanomdm.ts';
import { server } from './server.ts';
import { tasks } from './tasks/endpoints.ts';
import { pcs } from './tasks/pcs.ts';
import { runners } from './tasks/runners.ts';
import { tenants } from './tenants/endpoints.ts';
import { tokens } from './tokens/endpoints.ts';
import { webhooks } from './webhooks/endpoints.ts';
import { workflows } from './workflows/endpoints.ts';

/** Every endpoint by its name: `defineRoute(api.actions.claim, …)` in the server, `client.actions.claim(…)` in a client. */
export const api = {
  actions,
  audit,
  batches,
  callbacks,
  bots,
  checkin,
  control,
  devices,
  feed,
  hostActions,
  hosts,
  limits,
  live,
  mdm,
  nanomdm,
  orders,
  overviews,
  pcs,
  push,
  pipeline,
  runners,
  server,
  services,
  session,
  tasks,
  tenants,
  tokens,
  webhooks,
  workflows,
};
