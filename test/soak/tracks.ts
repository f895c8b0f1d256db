import { metricIn } from './metrics-text.ts';
import { floorsOf, type GrowthBound, growsBeyond, type Point, ratesOf, type Slope, slopeOf } from './slope.ts';

/** A figure of a process, made from a metric of its own over time. */
interface Measure {
  readonly name: string;
  readonly metric: string;
  /** A metric that is taken off it. */
  readonly less?: string;
  readonly unit: string;
  /** The metric's unit in the figure's. */
  readonly times: number;
  readonly made?: (points: readonly Point[]) => readonly Point[];
  /** Growth in an hour that is not worth a word. */
  readonly least: number;
}

const megabyte = 1 / 2 ** 20;
const floorMs = 60_000;

// A share of the shortest runs, so that they have a few floors too.
const floor = (points: readonly Point[]): readonly Point[] => {
  const lengthMs = (points.at(-1)?.atMs ?? 0) - (points[0]?.atMs ?? 0);
  return floorsOf(points, Math.min(floorMs, lengthMs / 5));
};

const measures: readonly Measure[] = [
  // Of its heap a process gives back late, or never, what it once took: a leak there shows in the floor.
  {
    ...{ name: 'memory', metric: 'process_resident_memory_bytes', unit: 'MiB', times: megabyte },
    least: Number.POSITIVE_INFINITY,
  },
  {
    ...{ name: 'memory beside heap', metric: 'process_resident_memory_bytes', less: 'nodejs_heap_size_total_bytes' },
    ...{ unit: 'MiB', times: megabyte, least: 5 },
  },
  { name: 'heap floor', metric: 'nodejs_heap_size_used_bytes', unit: 'MiB', times: megabyte, made: floor, least: 5 },
  { name: 'external memory', metric: 'nodejs_external_memory_bytes', unit: 'MiB', times: megabyte, least: 5 },
  { name: 'open files', metric: 'process_open_fds', unit: 'files', times: 1, least: 2 },
  { name: 'handles', metric: 'nodejs_active_handles_total', unit: 'handles', times: 1, least: 2 },
  { name: 'loop lag p50', metric: 'nodejs_eventloop_lag_p50_seconds', unit: 'ms', times: 1_000, least: 2 },
  { name: 'loop lag p99', metric: 'nodejs_eventloop_lag_p99_seconds', unit: 'ms', times: 1_000, least: 5 },
  {
    ...{ name: 'CPU', metric: 'process_cpu_seconds_total', unit: '% of a core', times: 100, least: 2 },
    made: ratesOf,
  },
];

/** How one figure of a process went. */
export interface Tracked {
  readonly measure: string;
  readonly unit: string;
  readonly slope: Slope;
  readonly isTooMuch: boolean;
}

/** What was read of one process over time. */
export interface Track {
  /** Takes what `/metrics` showed at an instant. */
  readonly add: (atMs: number, text: string) => void;
  /**
   * How its figures went from an instant on. Too much is what grew by more than so many percent in an hour, and still did in
   * the second half: what fills up and then stays is no leak.
   */
  readonly figures: (fromMs: number, percent: number) => readonly Tracked[];
}

/** Begins to follow a process. */
export function createTrack(): Track {
  const points = new Map(measures.map((measure): [Measure, Point[]] => [measure, []]));
  return {
    add(atMs, text) {
      for (const [{ metric, less }, list] of points) {
        const value = metricIn(text, metric);
        const off = less === undefined ? 0 : metricIn(text, less);
        if (value !== undefined && off !== undefined) list.push({ atMs, value: value - off });
      }
    },
    figures: (fromMs, percent) =>
      [...points].flatMap(([{ name, unit, times, made = (all: readonly Point[]) => all, least }, list]) => {
        const bound: GrowthBound = { percent, least };
        const late = list.filter(({ atMs }) => atMs >= fromMs);
        const figure = made(late).map(({ atMs, value }) => ({ atMs, value: value * times }));
        const [slope, second] = [figure, figure.slice(figure.length / 2)].map(slopeOf);
        if (slope === undefined) return [];
        const isTooMuch = growsBeyond(slope, bound) && second !== undefined && growsBeyond(second, bound);
        return [{ measure: name, unit, slope, isTooMuch }];
      }),
  };
}
