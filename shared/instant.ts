import { z } from 'zod';

const Iso = z.iso.datetime({ offset: true });
const endOfYear9999 = 253_402_300_799_999;
const smallestMilliseconds = 100_000_000_000;

/** An instant as epoch milliseconds: from ISO 8601 with its offset, epoch seconds or epoch milliseconds. */
export function instantOf(value: unknown): number | undefined {
  const at = millisecondsOf(value);
  return at !== undefined && at >= 0 && at <= endOfYear9999 ? at : undefined;
}

function millisecondsOf(value: unknown): number | undefined {
  // Seconds reach this number in the year 5138, milliseconds passed it in 1973.
  if (typeof value === 'number') return Math.floor(value < smallestMilliseconds ? value * 1_000 : value);
  const iso = Iso.safeParse(value);
  return iso.success ? Date.parse(iso.data) : undefined;
}
