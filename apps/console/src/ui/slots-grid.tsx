import { useRef } from 'react';
import { useNow } from '../words/clock.ts';
import { placed } from '../words/placed.ts';
import { countdown } from '../words/times.ts';
import { PageLink } from './page-link.tsx';

/** What a slot is busy with. */
export interface Slot {
  /** Of the action. */
  readonly id: string;
  readonly device: string;
  readonly name: string;
  readonly kind: string;
  readonly attempt: number;
  readonly since: string;
  readonly until: string;
}

/** The slots of a PC: a device keeps its cell until it ends, a new one takes the lowest free cell. */
export function SlotsGrid({
  slots,
  running,
  label,
}: {
  slots: number;
  running: readonly Slot[];
  label: string;
}) {
  const cells = useRef<(string | null)[]>([]);
  const now = useNow();
  cells.current = placed(
    cells.current,
    running.map((one) => one.device),
    slots,
  );
  const byId = new Map(running.map((one) => [one.device, one]));
  return (
    <ul aria-label={label} className="grid grid-cols-5 gap-1 lg:grid-cols-10">
      {cells.current.map((id, place) => {
        const one = id === null ? undefined : byId.get(id);
        const key = `${place}`;
        if (!one)
          return (
            <li
              key={key}
              aria-label="free"
              className="h-8 rounded-badge border border-dashed border-control"
            />
          );
        const left = Date.parse(one.until) - now;
        const part = Math.min(
          1,
          Math.max(0, left / Math.max(1, Date.parse(one.until) - Date.parse(one.since))),
        );
        return (
          <li key={key}>
            <PageLink
              to="/actions/$id"
              params={{ id: one.id }}
              aria-label={one.name}
              title={`${one.name}: ${one.kind}, attempt ${one.attempt}, ${countdown(left)} left`}
              className="relative flex h-8 items-center justify-center overflow-hidden rounded-badge bg-blue-tint px-1 text-label font-medium text-blue-text"
            >
              <span className="truncate">{tailOf(one.name)}</span>
              <span
                aria-hidden
                className="absolute inset-x-0 bottom-0 h-hair origin-left bg-blue-fill"
                style={{ transform: `scaleX(${part})` }}
              />
            </PageLink>
          </li>
        );
      })}
    </ul>
  );
}

/** The part that differs from its neighbours, for a cell of 48 px: 0415 of "Tablet 0415". */
export function tailOf(name: string): string {
  return name.split(/[\s_]+/).at(-1) ?? name;
}
