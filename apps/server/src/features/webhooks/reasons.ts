import type { DoorReason, Engine } from '@muster/engine';
import { WEBHOOKS } from './channel.ts';

/** Why a delivery waits: its webhook is paused. A tenant has a hundred webhooks at most. */
export function givePausedReasons(engine: Engine): void {
  const { schema: s } = engine;
  engine.giveReasons(WEBHOOKS, async (client, waiting) => {
    const { rows } = await client.query({
      name: 'muster_webhook_pauses',
      text: `select w.webhook_id, coalesce(w.name, w.url) as name, w.paused_at, w.paused_reason, w.lane_ids from ${s}.webhooks w
        where w.tenant_id = any($1::int[]) and w.paused_at is not null`,
      values: [[...new Set(waiting.map(({ tenantId }) => tenantId))]],
    });
    const ofLane = new Map<string, DoorReason>();
    for (const { webhook_id, name, paused_at, paused_reason, lane_ids } of rows)
      for (const laneId of lane_ids as string[])
        ofLane.set(laneId, {
          ...{ place: 'held', code: 'WEBHOOK_PAUSED', since: paused_at, tag: `webhook:${webhook_id}` },
          text: `The webhook ${name} is paused: ${paused_reason}`,
        });
    return new Map(
      waiting.flatMap(({ id, laneId }) => {
        const reason = ofLane.get(laneId);
        return reason ? [[id, reason] as const] : [];
      }),
    );
  });
}
