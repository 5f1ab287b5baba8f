import type { Webhook } from '@muster/contracts';
import { CircleCheck, History, OctagonX, Pause, TriangleAlert } from 'lucide-react';
import { Badge } from '../../ui/badge.tsx';

/** Paused by its failures (red) or by a person, failing, or well. */
export function WebhookState({ webhook }: { webhook: Webhook }) {
  if (webhook.pausedBy === 'failures') return <Badge icon={OctagonX} tone="red" word="paused" />;
  if (webhook.state === 'paused') return <Badge icon={Pause} tone="amber" word="paused" />;
  if (webhook.failingSince) return <Badge icon={TriangleAlert} tone="red" word="failing" />;
  if (webhook.catchingUp) return <Badge icon={History} tone="blue" word="catching up" />;
  return <Badge icon={CircleCheck} tone="green" word="active" />;
}

export const nameOf = (webhook: Pick<Webhook, 'id' | 'name'>) => webhook.name ?? `Webhook ${webhook.id}`;
