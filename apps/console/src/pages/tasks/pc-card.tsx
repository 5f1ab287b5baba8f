import type { Action, Pc } from '@muster/contracts';
import { ask } from '../../api/ask.ts';
import { useAct } from '../../api/use-act.ts';
import { useApi } from '../../api/use-api.ts';
import { useMay } from '../../session/session.tsx';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { TextLink } from '../../ui/link.tsx';
import { Presence } from '../../ui/presence.tsx';
import { type Slot, SlotsGrid } from '../../ui/slots-grid.tsx';
import { count, counted } from '../../words/numbers.ts';

/** One PC: its slots, what is free and why, which devices are in error. */
export function PcCard({ pc }: { pc: Pc }) {
  const held = useApi('/api/pcs/:id/actions', {
    params: { id: pc.id },
    query: { state: 'running', limit: 200 },
  });
  const running = (held.data?.actions ?? []).map(asSlot);
  const { act, busy } = useAct();
  const may = useMay('operator');
  const clear = () =>
    void act(
      async () => {
        for (const id of pc.devicesInError)
          await ask('POST', '/api/devices/:id/clear-error', { params: { id } });
      },
      { text: `${counted(pc.devicesInError.length, 'device')} of ${pc.name} in order again.` },
    );
  return (
    <Card
      title={
        <>
          {pc.name}{' '}
          <span className="font-normal text-ink-3">
            {count(pc.runningCount)} of {count(pc.slots)} slots
          </span>
        </>
      }
      aside={<Presence online={pc.online} lastSeenAt={pc.lastSeenAt} />}
    >
      <SlotsGrid slots={pc.slots} running={running} label={`Slots of ${pc.name}`} />
      <p className="mt-2 text-label text-ink-3">{freeBecause(pc)}</p>
      {pc.errorDeviceCount > 0 && (
        <p className="mt-2 flex flex-wrap items-center gap-2 text-table">
          <span className="text-red-text">{count(pc.errorDeviceCount)} in error:</span>
          {pc.devicesInError.slice(0, 8).map((id) => (
            <TextLink key={id} to="/devices/$id" params={{ id }}>
              {id}
            </TextLink>
          ))}
          {pc.devicesInError.length > 8 && <span>…</span>}
          {may && (
            <Button disabled={busy} onClick={clear}>
              Clear {count(pc.devicesInError.length)}
            </Button>
          )}
        </p>
      )}
      {pc.absentDeviceCount > 0 && (
        <p className="mt-1 text-table text-ink-2">
          {count(pc.absentDeviceCount)} absent: it does not see them.
        </p>
      )}
    </Card>
  );
}

function freeBecause(pc: Pc): string {
  const free = pc.slots - pc.runningCount;
  if (free <= 0) return 'Every slot is busy.';
  if (!pc.online) return `${count(free)} free: its runner is away.`;
  if (pc.runningCount >= pc.eligibleDeviceCount)
    return `${count(free)} free: no device is left that could do something.`;
  return `${count(free)} free: nothing waits for its other devices, or the runner has not asked yet.`;
}

function asSlot(action: Action): Slot {
  return {
    id: action.id,
    device: action.lane ?? action.id,
    kind: action.kind,
    attempt: action.attempt,
    since: action.leasedAt ?? action.createdAt,
    until: action.leaseUntil ?? action.createdAt,
  };
}
