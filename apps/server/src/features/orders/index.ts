import { ORDER_ERRORS } from '@muster/contracts/words';
import { MusterError } from '../../errors.ts';
import type { CreateFeature } from '../../feature.ts';
import { allCalled } from '../../naming/naming.ts';
import { createBotQueries } from './bot-queries.ts';
import { botRoutes } from './bot-routes.ts';
import { createBots } from './bots.ts';
import { createCompletion } from './completion.ts';
import { freeCancelled } from './free-cancelled.ts';
import { gatherNewOrders } from './new-orders.ts';
import { orderEvents } from './order-events.ts';
import { createOrderQueries } from './order-queries.ts';
import { orderRoutes } from './order-routes.ts';
import { createOrders } from './orders.ts';
import { createPruneOrders } from './prune-orders.ts';
import { giveOrderReasons } from './reasons.ts';
import { CHANNEL, POOLS } from './wire.ts';
import { writeEndings } from './write-endings.ts';

/**
 * The orders door: bots compete for the orders of their tenant, VIP first. It knows numbers, types and deletions; only
 * the engine knows what waits and which bot processes what, so there is no busy bot without an order and no order in
 * process without a bot.
 */
export const orders: CreateFeature = (shell) => {
  const { audit, callbacks, config, copying, db, doorEvents, engine, log, moving, naming, repeats, tokens } =
    shell;
  const seconds = config.MUSTER_ORDER_SECONDS;
  const queries = createOrderQueries(engine.schema, engine.now, seconds);
  const botQueries = createBotQueries(engine.schema, engine.now, seconds);
  const completion = createCompletion({ callbacks, engine, log, queries, seconds });
  const limit = config.MUSTER_ORDER_LIMIT;
  const door = createOrders({ bots: botQueries, completion, engine, limit, queries });
  const newOrders = gatherNewOrders({ audit, db, orders: door, queries, repeats });
  const bots = createBots({
    ...{ completion, engine, normalShare: config.MUSTER_NORMAL_SHARE, orderQueries: queries, orders: door },
    ...{ queries: botQueries, tokens },
  });
  writeEndings(engine);
  giveOrderReasons(engine);
  freeCancelled({ completion, db, engine, log, queries });
  doorEvents.of(CHANNEL, orderEvents(engine, seconds));
  const { MUSTER_RETENTION_DAYS: complete, MUSTER_SOFT_DELETE_DAYS: deleted } = config;
  engine.addDuty(createPruneOrders(engine, { complete, deleted }));
  naming.targetsOf(POOLS, allCalled('Orders'));
  naming.workersOf(CHANNEL, botQueries.namesOf);
  copying.refuse(
    CHANNEL,
    () => new MusterError('MUSTER_NOT_COPIED', 409, 'Orders cannot be copied. Create a new one.'),
  );
  moving.refuse(
    CHANNEL,
    () =>
      new MusterError(
        'MUSTER_NOT_MOVED',
        409,
        'Orders are served by type and number. To prefer one, give it to a bot: PATCH /api/orders/:id with PROCESSING and botId.',
      ),
  );
  return {
    name: 'orders',
    errors: ORDER_ERRORS,
    routes: [
      ...orderRoutes({ audit, completion, db, newOrders, orders: door, queries }),
      ...botRoutes({ audit, bots, db, queries: botQueries }),
    ],
  };
};
