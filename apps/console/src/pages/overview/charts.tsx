import type { Stats } from '@muster/contracts';
import { Chart, type Series } from '../../ui/chart.tsx';

/** Throughput and depth over the same span; the tables below repeat them for screen readers. */
const THROUGHPUT: readonly Series[] = [
  { word: 'succeeded', tone: 'green' },
  { word: 'failed', tone: 'red' },
];
const DEPTH: readonly Series[] = [
  { word: 'pending', tone: 'slate' },
  { word: 'running', tone: 'blue' },
];

export default function Charts({ stats }: { stats: Stats }) {
  const rows = filled(stats);
  const at = rows.map((row) => row.at);
  const per = stats.step === 60 ? 'a minute' : 'a quarter of an hour';
  return (
    <div className="flex flex-col gap-6">
      <Chart
        label={`Ended, ${per}`}
        at={at}
        series={THROUGHPUT}
        values={[rows.map((row) => row.succeeded), rows.map((row) => row.failed)]}
      />
      <Chart
        label="Depth: how many wait and run"
        at={at}
        series={DEPTH}
        values={[rows.map((row) => row.pending), rows.map((row) => row.running)]}
      />
    </div>
  );
}

/** The server leaves out steps in which nothing happened: they count zero, and the depth stays what it was. */
function filled(stats: Stats) {
  const stepMs = stats.step * 1_000;
  const known = new Map(
    stats.rows.filter((row) => row.channel === null).map((row) => [Date.parse(row.at), row]),
  );
  const first = Math.floor(Date.parse(stats.from) / stepMs) * stepMs;
  const end = Math.min(Date.parse(stats.to), Date.parse(stats.countedTo ?? stats.to));
  const rows: {
    at: number;
    succeeded: number;
    failed: number;
    pending: number | null;
    running: number | null;
  }[] = [];
  let pending: number | null = null;
  let running: number | null = null;
  // an unfinished step would look like a fall
  for (let at = first; at + stepMs <= end; at += stepMs) {
    const row = known.get(at);
    pending = row?.pending ?? pending;
    running = row?.running ?? running;
    rows.push({ at: at / 1_000, succeeded: row?.succeeded ?? 0, failed: row?.failed ?? 0, pending, running });
  }
  return rows;
}
