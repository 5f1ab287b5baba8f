import type { Pc, RunningDevices, Task } from '@muster/contracts';
import { useState } from 'react';
import { ask } from '../../api/ask.ts';
import { useAct } from '../../api/use-act.ts';
import { useMay } from '../../session/session.tsx';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { TextLink } from '../../ui/link.tsx';
import { Menu } from '../../ui/menu.tsx';
import { Presence } from '../../ui/presence.tsx';
import { type Slot, SlotsGrid, tailOf } from '../../ui/slots-grid.tsx';
import { Time } from '../../ui/time.tsx';
import { count, counted } from '../../words/numbers.ts';
import { SlotsDialog } from './slots-dialog.tsx';

type RunningDevice = RunningDevices['running'][number];

/** One PC: its slots, how many are free and why, which devices are in error. */
export function PcCard({
  pc,
  running,
  task,
}: {
  pc: Pc;
  running: readonly RunningDevice[];
  /** The active one. */
  task: Pick<Task, 'name'> | undefined;
}) {
  const { act, busy } = useAct();
  const may = useMay('operator');
  const [isChanging, setChanging] = useState(false);
  const clear = () =>
    void act(
      async () => {
        for (const id of pc.devicesInError)
          await ask('POST', '/api/devices/:id/clear-error', { params: { id } });
      },
      { text: `${counted(pc.devicesInError.length, 'device')} of ${pc.name} no longer in error.` },
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
      aside={
        <>
          <Presence online={pc.online} lastSeenAt={pc.lastSeenAt} />
          {may && (
            <Menu
              small
              label={`More of ${pc.name}`}
              items={[{ word: 'Change slots …', act: () => setChanging(true) }]}
            />
          )}
        </>
      }
    >
      <SlotsGrid slots={pc.slots} running={running.map(asSlot)} label={`Slots of ${pc.name}`} />
      <p className="mt-2 text-label text-ink-3">
        <FreeBecause pc={pc} task={task} />
      </p>
      {pc.errorDeviceCount > 0 && (
        <p className="mt-2 flex flex-wrap items-center gap-2 text-table">
          <span className="text-red-text">{count(pc.errorDeviceCount)} in error:</span>
          {pc.devicesInError.slice(0, 8).map((id, nth) => (
            <TextLink key={id} to="/devices/$id" params={{ id }} title={pc.namesInError[nth]}>
              {tailOf(pc.namesInError[nth] ?? id)}
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
      {isChanging && <SlotsDialog pc={pc} onClose={() => setChanging(false)} />}
    </Card>
  );
}

/** Why slots are free. The server says how many devices a claim of the runner would get now, so nothing is guessed. */
function FreeBecause({ pc, task }: { pc: Pc; task: Pick<Task, 'name'> | undefined }) {
  const free = pc.slots - pc.runningCount;
  if (free <= 0) return 'Every slot is busy.';
  const said = `${count(free)} free: `;
  if (!pc.online) return `${said}its runner is offline.`;
  if (pc.claimableDeviceCount > 0)
    return (
      <>
        {said}
        {counted(pc.claimableDeviceCount, 'device')} of {task?.name ?? 'the active task'}{' '}
        {pc.claimableDeviceCount === 1 ? 'waits' : 'wait'} until its runner asks
        {pc.lastSeenAt && (
          <>
            ; it was last heard of <Time at={pc.lastSeenAt} />
          </>
        )}
        .
      </>
    );
  if (!task) return `${said}no task is active.`;
  if (pc.eligibleDeviceCount === 0) return `${said}none of its devices is ready.`;
  if (pc.runningCount >= pc.eligibleDeviceCount)
    return `${said}${pc.eligibleDeviceCount === 1 ? 'its only ready device is' : `all its ${count(pc.eligibleDeviceCount)} ready devices are`} busy.`;
  return `${said}${task.name} has nothing to hand out to its other devices now.`;
}

function asSlot(one: RunningDevice): Slot {
  return {
    id: one.id,
    device: one.deviceId,
    name: one.deviceName,
    kind: one.kind,
    attempt: one.attempt,
    since: one.startedAt,
    until: one.timeoutAt,
  };
}
