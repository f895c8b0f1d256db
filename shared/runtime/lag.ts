import type { Bus } from './bus.ts';

/** What is left in a partition, as its batches and looks at the log tell. */
export interface Lag {
  /** The first offset that is not handled yet. */
  next: bigint;
  /** The end of what can be read. */
  end: bigint;
  /** Append time of the record at `next`, or of the one before it; undefined when it is not known. */
  since: number | undefined;
  movedAt: number;
  /** Where a look found the partition last. */
  looked: bigint | undefined;
}

/** The lag of a partition of which nothing is known but where it begins. */
export const noLag = (next: bigint, movedAt: number): Lag => ({
  next,
  end: next,
  since: undefined,
  movedAt,
  looked: undefined,
});

/** Records left. */
export const recordsLeft = ({ next, end }: Lag): bigint => (end > next ? end - next : 0n);

/**
 * Asks the log what is left: a partition whose fetches have stopped, or that never had a batch, would not know. Of those
 * that stand still it asks for the first record left, too; the others tell by their batches.
 */
export async function lookAtLags(
  { bus, topic, now }: { readonly bus: Bus; readonly topic: string; readonly now: () => number },
  lags: ReadonlyMap<number, Lag>,
): Promise<void> {
  const bounds = (await bus.offsets(topic)) ?? [];
  for (const [partition, lag] of lags) {
    const { next, looked } = lag;
    let end = bounds[partition]?.end ?? next;
    lag.looked = next;
    if (end > next && looked === next) {
      const [first] = await bus.read({ topic, partition, offset: next, limit: 1 });
      if (lag.next !== next) continue;
      lag.since = first?.at;
      // Of a transaction that is open nothing can be read, by anybody.
      if (first === undefined) end = next;
    }
    if (recordsLeft(lag) === 0n) lag.movedAt = now();
    lag.end = end;
  }
}
