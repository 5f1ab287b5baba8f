import { useEffect, useState, useSyncExternalStore } from 'react';
import { serverNow } from '../words/clock.ts';

const BAR = 'block h-full origin-left bg-blue-fill';
const reduced = matchMedia('(prefers-reduced-motion: reduce)');
function watchMotion(tell: () => void) {
  reduced.addEventListener('change', tell);
  return () => reduced.removeEventListener('change', tell);
}

/**
 * Fills smoothly until the end that the server named. At zero it is done in every tab at once, and the next answer of the server
 * corrects it. The browser animates the bar without drawing in between; with reduced motion it steps once a second.
 */
export function OrderProgress({ from, until }: { from: string; until: string }) {
  const [start, end] = [Date.parse(from), Date.parse(until)];
  const [now, setNow] = useState(serverNow);
  useEffect(() => {
    const left = end - serverNow();
    if (left <= 0) {
      setNow(serverNow());
      return;
    }
    // at each whole second before the end, and at the end
    const timer = setTimeout(() => setNow(serverNow()), left % 1_000 || 1_000);
    return () => clearTimeout(timer);
  });
  const left = Math.max(0, end - now);
  const done = left <= 0;
  const isCalm = useSyncExternalStore(watchMotion, () => reduced.matches);
  const part = 1 - left / Math.max(1, end - start);
  return (
    <span className="inline-flex items-center gap-2">
      <span
        role="progressbar"
        aria-label="Progress"
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={Math.round(part * 100)}
        className="h-2 w-[72px] overflow-hidden rounded-round bg-sunken"
      >
        {isCalm ? (
          <span className={BAR} style={{ transform: `scaleX(${part})` }} />
        ) : (
          <Bar key={until} start={start} end={end} />
        )}
      </span>
      <span className="w-8 text-right text-ink-2">{done ? 'done' : `${Math.ceil(left / 1_000)} s`}</span>
    </span>
  );
}

function Bar({ start, end }: { start: number; end: number }) {
  const [isOn, setOn] = useState(false);
  const [first] = useState(() => Math.min(1, Math.max(0, (serverNow() - start) / Math.max(1, end - start))));
  const [left] = useState(() => Math.max(0, end - serverNow()));
  useEffect(() => {
    const frame = requestAnimationFrame(() => setOn(true));
    return () => cancelAnimationFrame(frame);
  }, []);
  return (
    <span
      className={BAR}
      style={{ transform: `scaleX(${isOn ? 1 : first})`, transition: `transform ${left}ms linear` }}
    />
  );
}
