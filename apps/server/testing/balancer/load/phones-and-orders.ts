import type { TestCertificate } from '@muster/mdm/simulation';
import { playOrders } from '../../orders/play-orders.ts';
import { playPhones } from '../../phones/crowd.ts';
import { type Finding, finding } from '../../torture/finding.ts';
import type { Part } from './part.ts';

/** The players of `npm run phones` and `npm run orders`, again and again on a small scale, each time in a new tenant. */
const PHONES = { phones: 2, commandsEach: 2 };
const ORDERS = { bots: 4, orders: 10 };
/** An order takes a second (MUSTER_ORDER_SECONDS=1). */
const ROUND_MS = 1_500;

const found = (faults: readonly string[]): Finding[] => faults.map((fault) => finding('G54', null, fault));

export const phones =
  (issuer: TestCertificate): Part =>
  async ({ caller, isOver, newTenant, random }) => {
    const faults: string[] = [];
    do {
      const [operator, seed] = [await newTenant(), String(random.next())];
      const url = () => caller.url;
      const report = await playPhones({ ...PHONES, seed, issuer, operator, url, mayComeLate: true });
      faults.push(...report.faults);
    } while (!isOver());
    return found(faults);
  };

export const orders: Part = async ({ caller, isOver, newTenant, random }) => {
  const faults: string[] = [];
  do {
    const [operator, seed] = [await newTenant(), String(random.next())];
    const elapse = () => new Promise<void>((resolve) => setTimeout(resolve, ROUND_MS));
    const url = () => caller.url;
    const game = { ...ORDERS, seed, operator, url, elapse, disturb: async () => {}, mayComeLate: true };
    faults.push(...(await playOrders(game)).faults);
  } while (!isOver());
  return found(faults);
};
