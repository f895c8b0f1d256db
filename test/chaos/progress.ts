import { setTimeout as delay } from 'node:timers/promises';
import { pipelineStages } from '../e2e/kafka.ts';
import { createPlaceReader, type Places } from '../e2e/places.ts';

const [betweenLooksMs, staleMs] = [200, 2_000];

/** Watches how far every partition of every stage has come. */
export interface Progress {
  /** Something has happened: from now on until every partition of these stages has applied a record that came after it. */
  readonly moved: (stages: readonly string[], what: string) => void;
  /** The times that it took until all partitions had gone on, by what had happened. */
  readonly times: ReadonlyMap<string, readonly number[]>;
  /** Records that lie before the stages; without end, if nobody could look lately. */
  readonly behind: () => Readonly<Record<string, number>>;
  /** Timers that were set when somebody looked last. */
  readonly timers: () => number;
  readonly close: () => Promise<void>;
}

/** Begins to watch; what is out of reach for a while is looked at later. */
export async function watchProgress(at: {
  readonly kafkaBrokers: string;
  readonly redisUrl: string;
}): Promise<Progress> {
  const reader = createPlaceReader(at);
  let lookedAt = Number.NEGATIVE_INFINITY;
  const times = new Map<string, number[]>();
  let waiting: { readonly what: string; readonly at: number; readonly before: Places; readonly left: Set<string> }[] =
    [];
  let last: Places = new Map();
  let timers = 0;

  const closing = new AbortController();
  const watching = (async () => {
    while (!closing.signal.aborted) {
      try {
        [last, timers] = await Promise.all([reader.look(), reader.timers()]);
        lookedAt = performance.now();
        for (const each of waiting) {
          for (const name of each.left) {
            // What came after it has been applied: before that, the partition may just have had nothing to do.
            const end = each.before.get(name)?.end ?? 0;
            if ((last.get(name)?.applied ?? -1) >= end) each.left.delete(name);
          }
          if (each.left.size > 0) continue;
          times.set(each.what, [...(times.get(each.what) ?? []), performance.now() - each.at]);
        }
        waiting = waiting.filter(({ left }) => left.size > 0);
      } catch {
        // Kafka or Redis is away, which is what this run is about: the next look is as good.
      }
      await delay(betweenLooksMs);
    }
  })();

  return {
    moved(stages, what) {
      const left = new Set([...last.keys()].filter((name) => stages.includes(name.split('/')[0] ?? '')));
      waiting.push({ what, at: performance.now(), before: last, left });
    },
    times,
    timers: () => timers,
    behind: () =>
      Object.fromEntries(
        pipelineStages.map(({ stage }) => [
          stage,
          [...last]
            .filter(([name]) => name.startsWith(`${stage}/`))
            .reduce(
              (sum, [, { applied, end }]) => sum + end - applied - 1,
              performance.now() - lookedAt > staleMs ? Number.POSITIVE_INFINITY : 0,
            ),
        ]),
      ),
    async close() {
      closing.abort();
      await watching;
      await reader.close();
    },
  };
}
