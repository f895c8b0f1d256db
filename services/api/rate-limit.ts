/** Says whether a holder may come again, and if not, in how many milliseconds. */
export interface RateLimit {
  readonly take: (
    holder: string,
    now: number,
  ) => { readonly ok: true } | { readonly ok: false; readonly waitMs: number };
  /** Holders remembered now. */
  readonly size: () => number;
}

const minuteMs = 60_000;
const leastSwept = 1_000;

/**
 * A bucket for each holder: it holds `burst`, and fills up by so many a minute. Of a bucket is remembered when it will be
 * full again; a full one is as good as none, so the full ones are forgotten now and then: memory follows who came lately.
 */
export function createRateLimit({
  perMinute,
  burst,
}: {
  readonly perMinute: number;
  readonly burst: number;
}): RateLimit {
  const oneMs = minuteMs / perMinute;
  const emptyMs = oneMs * burst;
  const fullAt = new Map<string, number>();
  let sweepAt = leastSwept;

  const sweep = (now: number): void => {
    for (const [holder, at] of fullAt) if (at <= now) fullAt.delete(holder);
    sweepAt = Math.max(leastSwept, fullAt.size * 2);
  };

  return {
    take(holder, now) {
      if (fullAt.size >= sweepAt) sweep(now);
      // Never later than if it were empty now, though a clock may have gone back.
      const full = Math.min(Math.max(fullAt.get(holder) ?? now, now), now + emptyMs);
      const waitMs = full + oneMs - (now + emptyMs);
      if (waitMs > 0) return { ok: false, waitMs: Math.ceil(waitMs) };
      fullAt.set(holder, full + oneMs);
      return { ok: true };
    },
    size: () => fullAt.size,
  };
}
