import { CHECKIN_ERRORS } from '@muster/contracts/words';
import type { CreateFeature } from '../../feature.ts';
import { CHECKIN } from '../../fleet/index.ts';
import { createHandOut } from '../../http/hand-out.ts';
import { createCheckin } from './checkin.ts';
import { copyAssignment } from './copy.ts';
import { queueRoutes } from './queue-routes.ts';
import { giveOfflineReasons } from './reasons.ts';
import { checkinRoute } from './routes.ts';

/** The check-in door: the queue of a device, and what the device gets when it checks in. */
export const checkin: CreateFeature = ({ audit, config, copying, engine, fleet, log, longPolls, naming }) => {
  fleet.addMilestones(CHECKIN);
  giveOfflineReasons(engine, fleet);
  copying.of(CHECKIN, copyAssignment(fleet));
  const checkIn = createCheckin({
    contacts: fleet.contacts,
    engine,
    handOut: createHandOut({ engine, log, longPolls }, CHECKIN),
    leaseSeconds: config.MUSTER_CHECKIN_LEASE_SECONDS,
  });
  return {
    name: 'checkin',
    errors: CHECKIN_ERRORS,
    routes: [...queueRoutes({ audit, engine, fleet, naming }), checkinRoute(engine, checkIn)],
  };
};
