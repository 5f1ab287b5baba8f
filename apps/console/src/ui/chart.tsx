import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { count } from '../words/numbers.ts';
import { clock } from '../words/times.ts';
import { useZone } from '../words/zone.ts';
import { classes } from './classes.ts';
import { TONES, type Tone } from './tones.ts';

export interface Series {
  readonly word: string;
  readonly tone: Tone;
}

const HEIGHT = 160;

/** Lines over time on a canvas, with a 24-hour axis in the chosen zone, and the same numbers as a table. */
export function Chart(props: {
  label: string;
  /** Seconds since 1970. */
  at: readonly number[];
  series: readonly Series[];
  values: readonly (readonly (number | null)[])[];
}) {
  const { label, at, series, values } = props;
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const [zone] = useZone();
  const names = series.map((one) => one.word).join();

  // biome-ignore lint/correctness/useExhaustiveDependencies: the data goes in below; a new plot only for other series
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const draw = () => {
      plot.current?.destroy();
      const style = getComputedStyle(document.documentElement);
      const colour = (name: string) => style.getPropertyValue(name).trim();
      const axis = {
        stroke: colour('--ink-3'),
        grid: { stroke: colour('--line'), width: 1 },
        ticks: { show: false },
        font: '12px Inter, sans-serif',
      };
      plot.current = new uPlot(
        {
          width: element.clientWidth,
          height: HEIGHT,
          cursor: { y: false, points: { size: 6 } },
          legend: { show: false },
          scales: { y: { range: (_, _low, high) => [0, Math.max(4, high * 1.1)] } },
          axes: [
            {
              ...axis,
              space: 64,
              size: 28,
              values: (_, ticks) => ticks.map((tick) => clock(tick * 1_000, zone).slice(0, 5)),
            },
            {
              ...axis,
              size: 48,
              values: (_, ticks) => ticks.map((tick) => (Number.isInteger(tick) ? count(tick) : '')),
            },
          ],
          series: [
            {},
            ...series.map(({ tone, word }) => ({
              label: word,
              stroke: colour(TONES[tone].stroke),
              width: 2,
              // a line with one point is not a line
              points: { show: (plot: uPlot, place: number) => isSparse(plot.data[place]), size: 6 },
            })),
          ],
        },
        [[...at], ...values.map((one) => [...one])],
        element,
      );
    };
    draw();
    const size = new ResizeObserver(() =>
      plot.current?.setSize({ width: element.clientWidth, height: HEIGHT }),
    );
    size.observe(element);
    // colours are read when it is drawn
    const theme = new MutationObserver(draw);
    theme.observe(document.documentElement, { attributeFilter: ['data-theme'] });
    return () => {
      size.disconnect();
      theme.disconnect();
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, [names, zone]);

  useEffect(() => {
    plot.current?.setData([[...at], ...values.map((one) => [...one])]);
  }, [at, values]);

  return (
    <figure className="min-w-0">
      <figcaption className="mb-2 flex flex-wrap items-center gap-x-4 gap-y-1 text-label text-ink-2">
        {label}
        {series.map(({ tone, word }, place) => (
          <span key={word} className="inline-flex items-center gap-1">
            <span aria-hidden className={classes('h-hair w-3', TONES[tone].fill)} />
            {word} {lastOf(values[place])}
          </span>
        ))}
      </figcaption>
      <div ref={box} aria-hidden style={{ height: HEIGHT }} />
      <details className="text-label text-ink-3">
        <summary className="min-h-6">As a table</summary>
        <section
          className="max-h-[200px] overflow-y-auto"
          // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must get there
          tabIndex={0}
          aria-label={`${label}, as a table`}
        >
          <table className="w-full">
            <thead>
              <tr>
                <th scope="col" className="text-left font-medium">
                  Time
                </th>
                {series.map(({ word }) => (
                  <th key={word} scope="col" className="text-right font-medium">
                    {word}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {at
                .map((moment, row) => (
                  <tr key={moment}>
                    <td>{clock(moment * 1_000, zone)}</td>
                    {series.map(({ word }, place) => (
                      <td key={word} className="text-right">
                        {values[place]?.[row] ?? ''}
                      </td>
                    ))}
                  </tr>
                ))
                .reverse()}
            </tbody>
          </table>
        </section>
      </details>
    </figure>
  );
}

const SPARSE = 3;
function isSparse(values: ArrayLike<number | null | undefined> | undefined): boolean {
  return Array.from(values ?? []).filter((value) => value != null).length <= SPARSE;
}

function lastOf(values: readonly (number | null)[] | undefined): string {
  const last = values?.findLast((value) => value !== null);
  return last == null ? '' : count(last);
}
