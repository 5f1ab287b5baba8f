import type { HostAction, Service } from '@muster/contracts';
import { ask } from '../../api/ask.ts';
import { useAct } from '../../api/use-act.ts';
import { useTakeBack } from '../../api/use-take-back.ts';
import { useMay } from '../../session/session.tsx';
import { Button } from '../../ui/button.tsx';
import { Id } from '../../ui/id.tsx';
import { LaneLine } from '../../ui/lane-line.tsx';

const KINDS = ['start', 'stop', 'restart'] as const;

/** One service: its lane as a line, and its actions. */
export function ServiceLane({
  service,
  waiting,
  past,
}: {
  service: Service;
  waiting: readonly HostAction[];
  past: readonly HostAction[];
}) {
  const { act, busy } = useAct();
  const may = useMay('operator');
  const takeBack = useTakeBack(act);
  const running = waiting.find((one) => one.status === 'running');
  const queued = waiting.filter((one) => one.status === 'queued').reverse();
  const want = (kind: (typeof KINDS)[number]) =>
    act(
      () =>
        ask('POST', '/api/hosts/:hostId/actions', {
          params: { hostId: service.hostId },
          body: { serviceId: service.id, kind },
        }),
      ({ id }) => ({
        text: `${kind} of ${service.displayName} is queued.`,
        undo: {
          word: 'Undo',
          act: () => takeBack(id),
        },
      }),
    );
  return (
    <div>
      <div className="flex flex-wrap items-center justify-between gap-2">
        <h3 className="font-medium">
          {service.displayName} {service.displayName !== service.unitName && <Id>{service.unitName}</Id>}
        </h3>
        {may && (
          <span className="flex gap-2">
            {KINDS.map((kind) => (
              <Button key={kind} disabled={busy} onClick={() => void want(kind)}>
                {kind}
              </Button>
            ))}
          </span>
        )}
      </div>
      <LaneLine
        label={`Lane of ${service.displayName}`}
        past={past.slice(0, 20).map(asLane).reverse()}
        running={
          running?.startedAt && running.leaseUntil
            ? { ...asLane(running), since: running.startedAt, leaseUntil: running.leaseUntil }
            : null
        }
        waiting={queued.map(asLane)}
      />
    </div>
  );
}

function asLane({ id, kind, status }: HostAction) {
  return { id, kind, state: status };
}
