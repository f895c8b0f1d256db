/** A value at an instant; any clock will do. */
export interface Point {
  readonly atMs: number;
  readonly value: number;
}

/** How a value went. */
export interface Slope {
  /** What it grows by in an hour, by least squares. */
  readonly perHour: number;
  /** The standard error of that; without end where the points are too few, or hang together too much, to tell. */
  readonly error: number;
  /** Its mean and its highest. */
  readonly level: number;
  readonly peak: number;
}

const hourMs = 3_600_000;
const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/**
 * The straight line through some points. Neighbours in time resemble each other, which makes many points worth few: the
 * error is that of as many independent ones as the correlation of neighbouring residuals leaves (Santer et al. 2000).
 * Undefined for less than three points.
 */
export function slopeOf(points: readonly Point[]): Slope | undefined {
  if (points.length < 3) return undefined;
  const values = points.map(({ value }) => value);
  const [middle, level] = [mean(points.map(({ atMs }) => atMs)), mean(values)];
  const spread = points.reduce((sum, { atMs }) => sum + (atMs - middle) ** 2, 0);
  const perMs = points.reduce((sum, { atMs, value }) => sum + (atMs - middle) * (value - level), 0) / spread;
  const residuals = points.map(({ atMs, value }) => value - level - perMs * (atMs - middle));
  const squares = residuals.reduce((sum, each) => sum + each ** 2, 0);
  const neighbours = residuals.slice(1).reduce((sum, each, index) => sum + each * (residuals[index] ?? 0), 0);
  const correlation = squares === 0 ? 0 : Math.max(0, neighbours / squares);
  const independent = (points.length * (1 - correlation)) / (1 + correlation);
  const isTelling = points.length > 3 && independent > 2;
  const error = isTelling ? Math.sqrt(squares / (independent - 2) / spread) : Number.POSITIVE_INFINITY;
  return { perHour: perMs * hourMs, error: error * hourMs, level, peak: Math.max(...values) };
}

/** What growth is too much: a share of the level in an hour, and more than an amount that is not worth a word. */
export interface GrowthBound {
  readonly percent: number;
  readonly least: number;
}

/** Whether it grows by more than that, and by so much more that its error cannot be the reason. */
export const growsBeyond = ({ perHour, error, level }: Slope, { percent, least }: GrowthBound): boolean =>
  perHour - 2 * error > Math.max(least, (level * percent) / 100);

/** The least value of each whole window: of a heap, about what is left after a collection. */
export function floorsOf(points: readonly Point[], windowMs: number): readonly Point[] {
  const [first, last] = [points[0], points.at(-1)];
  if (first === undefined || last === undefined) return [];
  const windows = Map.groupBy(points, ({ atMs }) => Math.floor((atMs - first.atMs) / windowMs));
  return [...windows].flatMap(([index, within]) => {
    if (first.atMs + (index + 1) * windowMs > last.atMs) return [];
    return within.reduce((least, each) => (each.value < least.value ? each : least));
  });
}

/** What a counter grew by, per second, between one point and the next. */
export const ratesOf = (points: readonly Point[]): readonly Point[] =>
  points.slice(1).flatMap(({ atMs, value }, index) => {
    const before = points[index];
    return before === undefined ? [] : [{ atMs, value: ((value - before.value) * 1_000) / (atMs - before.atMs) }];
  });
