import { randomUUID } from 'node:crypto';
import type { Bot, Order, OrderPage } from '@muster/contracts';

export type OrderCalls = ReturnType<typeof createCalls>;

export interface Asked {
  /** Of the current server: it may be killed and started again. */
  readonly url: () => string;
  readonly operator: string;
}

/** The requests of the door. A request without an answer may have happened: it is counted as lost and never repeated. */
export function createCalls({ operator, url }: Asked) {
  let lost = 0;

  async function send(
    method: string,
    path: string,
    body?: object,
    headers: Record<string, string> = {},
    // biome-ignore lint/suspicious/noExplicitAny: whatever came
  ): Promise<{ status: number; body: any } | null> {
    let response: Response;
    let text: string;
    try {
      response = await fetch(url() + path, {
        method,
        headers: {
          authorization: `Bearer ${operator}`,
          ...(body ? { 'content-type': 'application/json' } : {}),
          ...headers,
        },
        ...(body ? { body: JSON.stringify(body) } : {}),
      });
      text = await response.text();
    } catch {
      return null;
    }
    if (response.status === 500) throw new Error(`${method} ${path}: ${text}`);
    // overloaded, or stopping
    if (response.status > 500) return null;
    return { status: response.status, body: text === '' ? null : JSON.parse(text) };
  }

  /** Repeats until there is an answer: for requests that change nothing, or nothing twice. */
  async function persist(...request: Parameters<typeof send>) {
    for (;;) {
      const answer = await send(...request);
      if (answer) return answer.body;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  async function once(...request: Parameters<typeof send>) {
    const answer = await send(...request);
    if (!answer) lost += 1;
    return answer;
  }
  const status = async (...request: Parameters<typeof send>) => (await once(...request))?.status ?? null;

  /** While they have this status. */
  async function list(isSuch: (order: Order) => boolean): Promise<Order[]> {
    const orders: Order[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page: OrderPage = await persist('GET', `/api/orders?limit=200${cursor && `&cursor=${cursor}`}`);
      const such = page.orders.filter(isSuch);
      orders.push(...such);
      cursor = such.length === page.orders.length ? page.cursor : null;
    }
    return orders;
  }

  return {
    lost: () => lost,
    create: (type: Order['type']): Promise<Order> =>
      persist('POST', '/api/orders', { type }, { 'idempotency-key': randomUUID() }),
    newBot: async (): Promise<Bot | null> => (await once('POST', '/api/bots'))?.body ?? null,
    /** What this claim took. */
    async claim(id: string): Promise<Order | null> {
      const answer = await once('POST', `/api/bots/${id}/claim`);
      return answer?.status === 200 ? answer.body : null;
    },
    patchOrder: (id: string, body: object) => status('PATCH', `/api/orders/${id}`, body),
    patchBot: (id: string, body: object) => status('PATCH', `/api/bots/${id}`, body),
    deleteOrder: (id: string) => status('DELETE', `/api/orders/${id}`),
    deleteBot: (id: string) => status('DELETE', `/api/bots/${id}`),

    list: (): Promise<Order[]> => list(() => true),
    /** They come before all others, which need not be read. */
    waiting: (): Promise<Order[]> => list(({ status }) => status === 'PENDING'),
    async bots(): Promise<Bot[]> {
      const bots: Bot[] = [];
      for (let cursor: string | null = ''; cursor !== null; ) {
        const page: { bots: Bot[]; cursor: string | null } = await persist(
          'GET',
          `/api/bots?limit=200${cursor && `&cursor=${cursor}`}`,
        );
        bots.push(...page.bots);
        cursor = page.cursor;
      }
      return bots;
    },
    /** How often each order was completed, by the histories of all actions of this kind. */
    async completions(): Promise<Map<string, number>> {
      const found = new Map<string, number>();
      for (let cursor: string | null = ''; cursor !== null; ) {
        const page: { actions: { id: string; payload: { orderId: string } }[]; cursor: string | null } =
          await persist(
            'GET',
            `/api/actions?channel=order&state=succeeded&limit=100${cursor && `&cursor=${cursor}`}`,
          );
        await Promise.all(
          page.actions.map(async ({ id, payload: { orderId } }) => {
            const { events }: { events: { type: string }[] } = await persist('GET', `/api/actions/${id}`);
            const times = events.filter(({ type }) => type === 'SUCCEEDED').length;
            found.set(orderId, (found.get(orderId) ?? 0) + times);
          }),
        );
        cursor = page.cursor;
      }
      return found;
    },
  };
}
