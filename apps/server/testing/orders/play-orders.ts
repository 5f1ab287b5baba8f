import type { Order } from '@muster/contracts';
import { Random } from '../torture/random.ts';
import { checkOrders } from './check-orders.ts';
import { type Asked, createCalls } from './order-calls.ts';

/**
 * Bots that compete for orders, and an operator who interferes: orders arrive while others wait, are assigned to bots by hand, taken
 * back, completed, deleted and restored, bots are deleted while they work, and the server is killed. In each round everything happens
 * at once, then the time of an order passes. In the end each order was completed once, and no bot is stuck.
 */
export interface OrderGame extends Asked {
  readonly bots: number;
  readonly orders: number;
  readonly seed: string;
  /** The time of an order passes. */
  readonly elapse: () => Promise<void>;
  /** Called at the beginning of a round, with the share of finished orders: may kill the server during the round. */
  readonly disturb: (done: number) => Promise<void>;
  /** A node that stood still may carry out a claim without an answer in a later round, and give the order back. */
  readonly mayComeLate?: boolean;
}

export interface OrderReport {
  readonly completed: number;
  readonly deleted: number;
  readonly rounds: number;
  readonly claims: number;
  readonly acts: number;
  /** Requests without an answer. */
  readonly lost: number;
  /** Orders that were checked for overtaking. */
  readonly compared: number;
  readonly reasons: Readonly<Record<string, number>>;
  readonly faults: string[];
}

type Held = Pick<Order, 'id' | 'botId'>;

const AT_ONCE = 50;
const CLAIMS_PER_ACT = 5;
const VIP_SHARE = 0.3;
const MOST_FAULTS = 20;

export async function playOrders(game: OrderGame): Promise<OrderReport> {
  const dice = new Random(game.seed);
  const calls = createCalls(game);
  const faults: string[] = [];
  const say = (fault: string) => void (faults.length < MOST_FAULTS && faults.push(fault));
  const bots = new Set<string>();
  /** Those that wait, as far as this game knows: a request without an answer may have taken others. */
  const waiting = new Map<string, Order>();
  const deleted = new Set<string>();
  let [made, rounds, claims, acts, compared] = [0, 0, 0, 0, 0];

  async function newOrder(): Promise<void> {
    const type = dice.chance(VIP_SHARE) ? 'VIP' : 'NORMAL';
    const order = await calls.create(type);
    waiting.set(order.id, order);
  }

  async function newBot(): Promise<void> {
    const bot = await calls.newBot();
    if (bot) bots.add(bot.id);
  }

  /** One change by an operator; the orders it touches are left out of the comparison of the round. `held`: the orders of bots. */
  async function act(held: readonly Held[], touched: Set<string>): Promise<void> {
    const busy = held.length > 0 ? dice.pick(held) : null;
    const idle = dice.pick([...bots]);
    const next = waiting.size > 0 ? dice.pick([...waiting.values()]) : null;
    const what = dice.weighted({
      ...{ 'give back': 3, 'set idle': 3, complete: 2, 'delete bot': 2, 'delete order': 1, assign: 2 },
      ...{ 'delete waiting': 1, restore: 1 },
    });
    const order = ['assign', 'delete waiting'].includes(what) ? next : busy;
    if (what === 'restore') {
      const [id] = deleted;
      if (id === undefined) return;
      acts += 1;
      touched.add(id);
      if ((await calls.patchOrder(id, { deletedAt: null, status: 'PENDING' })) === 200) deleted.delete(id);
      return;
    }
    if (!order) return;
    acts += 1;
    touched.add(order.id);
    if (what === 'give back') await calls.patchOrder(order.id, { status: 'PENDING' });
    else if (what === 'complete') await calls.patchOrder(order.id, { status: 'COMPLETE' });
    else if (what === 'set idle')
      await calls.patchBot(order.botId as string, { status: 'IDLE', currentOrderId: null });
    else if (what === 'assign') await calls.patchOrder(order.id, { status: 'PROCESSING', botId: idle });
    else if (what === 'delete bot') {
      const status = await calls.deleteBot(order.botId as string);
      if (status !== null) bots.delete(order.botId as string);
      await newBot();
    } else if ((await calls.deleteOrder(order.id)) === 204) deleted.add(order.id);
  }

  /** Everything of one moment; then those that waited before it and still do must come after all that were taken. */
  async function round(most: number): Promise<void> {
    rounds += 1;
    const lostBefore = calls.lost();
    const late = (await calls.bots()).flatMap(({ currentOrderId: order, id: botId }) =>
      order === null ? [] : [{ id: order, botId }],
    );
    const before = [...waiting.values()];
    const touched = new Set<string>();
    const taken: Order[] = [];
    const claim = async (id: string) => {
      claims += 1;
      const order = await calls.claim(id);
      if (order) taken.push(order);
    };
    const asked = dice.shuffle([...bots]).map(claim);
    await Promise.all([
      game.disturb(1 - (game.orders - made + waiting.size) / game.orders),
      ...asked,
      ...Array.from({ length: most }, newOrder),
      // while others still claim, on orders in process
      ...asked
        .filter((_, n) => n % CLAIMS_PER_ACT === 0)
        .map((answered) => answered.then(() => act([...late, ...taken], touched))),
    ]);
    made += most;
    for (const { id } of taken) waiting.delete(id);
    if (calls.lost() > lostBefore || touched.size > 0) await lookAgain();
    if (calls.lost() > (game.mayComeLate ? 0 : lostBefore)) return;
    // one that was taken and returned in the same round, when its bot was set idle, could not be overtaken
    const isOut = (id: string) => touched.has(id) || taken.some((order) => order.id === id);
    const first = before.filter(({ id }) => waiting.has(id) && !isOut(id)).toSorted(inTurn)[0];
    compared += taken.length;
    for (const order of taken)
      if (first && !touched.has(order.id) && inTurn(first, order) < 0)
        say(
          `${order.type} ${order.orderNumber} was taken before ${first.type} ${first.orderNumber}, which waits`,
        );
  }

  async function lookAgain(): Promise<void> {
    const all = await calls.waiting();
    waiting.clear();
    for (const order of all) waiting.set(order.id, order);
  }

  async function nobodyIsStuck(): Promise<void> {
    const present = await calls.bots();
    bots.clear();
    for (const { currentOrderId, id, status } of present) {
      bots.add(id);
      if ((status === 'PROCESSING') !== (currentOrderId !== null))
        say(`bot ${id} is ${status} with order ${currentOrderId}`);
    }
  }

  for (let n = 0; n < game.bots; n += AT_ONCE)
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, game.bots - n) }, newBot));
  for (;;) {
    const left = game.orders - made;
    if (left <= 0 && waiting.size === 0) {
      const open = (await calls.list()).filter(({ status }) => status !== 'COMPLETE');
      if (open.length === 0) break;
    }
    // more than are taken at first, so that some always wait
    await round(Math.min(left, rounds < 3 ? game.bots * 2 : game.bots));
    await game.elapse();
    await nobodyIsStuck();
  }
  const end = await checkOrders(calls, { deleted, made, say });
  return { ...{ rounds, claims, acts, compared, faults }, ...end, lost: calls.lost(), deleted: deleted.size };
}

/** VIP first, then by number. */
function inTurn(a: Order, b: Order): number {
  return a.type === b.type ? a.orderNumber - b.orderNumber : a.type === 'VIP' ? -1 : 1;
}
