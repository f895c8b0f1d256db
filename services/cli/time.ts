const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const;

/** How long ago an instant is, in the largest unit that fits: `3 min ago`. Nobody counts the first seconds. */
export function ago(at: number, now: number): string {
  const ms = now - at;
  if (ms < 0) return 'in the future';
  if (ms < 10_000) return 'just now';
  const [unit, size] = units.find(([, size]) => ms >= size) ?? ['s', 1_000];
  return `${Math.floor(ms / size)} ${unit} ago`;
}

/** A span of time, exact while that can be read: `+12 ms`, `+104.533 s`, `+2 h 3 min`. */
export function span(ms: number): string {
  const sign = ms < 0 ? '-' : '+';
  const size = Math.abs(ms);
  if (size < 1_000) return `${sign}${size} ms`;
  if (size < 3_600_000) return `${sign}${(size / 1_000).toFixed(3)} s`;
  return `${sign}${Math.floor(size / 3_600_000)} h ${Math.floor((size % 3_600_000) / 60_000)} min`;
}

/** An instant as people read it, in UTC. */
export const instant = (at: number): string => new Date(at).toISOString().replace('T', ' ');

const spanUnits = { ms: 1, s: 1_000, m: 60_000, min: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** A span of time in the largest unit that tells it whole, as `parseSpan` reads it: `1500ms`, `2s`. */
export function exactSpan(ms: number): string {
  const unit = (['h', 'm', 's'] as const).find((each) => ms >= spanUnits[each] && ms % spanUnits[each] === 0) ?? 'ms';
  return `${ms / spanUnits[unit]}${unit}`;
}

/** Reads `90s`, `15m`, `2h` or `1d` as milliseconds; undefined when it is none of them. */
export function parseSpan(text: string): number | undefined {
  const match = /^(\d{1,9})(ms|s|min|m|h|d)$/.exec(text.trim());
  if (match === null) return undefined;
  const [, digits = '', unit = 'ms'] = match;
  // The pattern lets only these units through.
  return Number(digits) * spanUnits[unit as keyof typeof spanUnits];
}
