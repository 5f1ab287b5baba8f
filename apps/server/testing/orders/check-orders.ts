import type { OrderCalls } from './order-calls.ts';

/** What came of all orders in the end, by the list and by the whole history. */
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
  // a deletion without an answer may have been carried out
  if (orders.length > made) say(`${made} orders were made, and ${orders.length} are there`);
  if (orders.length + deleted.size < made - calls.lost())
    say(`${made} orders were made, ${deleted.size} deleted, and ${orders.length} are there`);
  for (const { currentOrderId, id, status } of await calls.bots())
    if (status !== 'IDLE' || currentOrderId !== null) say(`bot ${id} is ${status}`);

  const ended = new Map<string, number>();
  for await (const { actionId, type } of calls.events(() => ended.size >= orders.length))
    if (actionId !== null && type === 'SUCCEEDED') ended.set(actionId, (ended.get(actionId) ?? 0) + 1);
  for (const [actionId, times] of ended)
    if (times > 1) say(`action ${actionId} was completed ${times} times`);
  return { completed: orders.length, reasons };
}
