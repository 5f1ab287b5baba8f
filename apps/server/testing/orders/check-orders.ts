import type { OrderCalls } from './order-calls.ts';

/** The final state of all orders, by the list and by their histories. */
export async function checkOrders(
  calls: OrderCalls,
  { deleted, made, say }: { deleted: ReadonlySet<string>; made: number; say: (fault: string) => void },
): Promise<{ completed: number; reasons: Record<string, number> }> {
  const orders = await calls.list();
  const reasons: Record<string, number> = {};
  for (const { completionReason, id, orderNumber, status } of orders) {
    reasons[String(completionReason)] = (reasons[String(completionReason)] ?? 0) + 1;
    if (status !== 'COMPLETE') say(`order ${orderNumber} is ${status}`);
    if (deleted.has(id)) say(`order ${orderNumber} was deleted, and is in the list`);
  }
  // a deletion without an answer may have happened
  if (orders.length > made) say(`${made} orders were made, and ${orders.length} are there`);
  if (orders.length + deleted.size < made - calls.lost())
    say(`${made} orders were made, ${deleted.size} deleted, and ${orders.length} are there`);
  for (const { currentOrderId, id, status } of await calls.bots())
    if (status !== 'IDLE' || currentOrderId !== null) say(`bot ${id} is ${status}`);

  const completions = await calls.completions();
  for (const { id, orderNumber } of orders)
    if (completions.get(id) !== 1)
      say(`order ${orderNumber} was completed ${completions.get(id) ?? 0} times`);
  return { completed: orders.length, reasons };
}
