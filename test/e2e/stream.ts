import { setTimeout as delay } from 'node:timers/promises';
import type { OutsideClient } from './kafka.ts';

/** Records for one topic. */
type Records = Parameters<OutsideClient['publish']>[1];

/** Records that flow evenly until they are stopped. */
export interface Stream {
  /** How many the log has acknowledged. */
  readonly published: () => number;
  /** Resolves when it was stopped and everything begun is acknowledged; rejects when the log took nothing for a minute. */
  readonly ended: Promise<void>;
  readonly stop: () => Promise<void>;
}

const [tickMs, retryMs, patienceMs] = [50, 100, 60_000];
const mostAtOnce = 500;

/**
 * Publishes as many records as are due, tick by tick, one request after the other. While the broker is away the same ones
 * are sent until the log has them, as publishers do; what became due meanwhile follows.
 */
export function startStream(options: {
  readonly client: OutsideClient;
  readonly topic: string;
  readonly perSecond: number;
  readonly take: (count: number) => Records | Promise<Records>;
}): Stream {
  const { client, topic, perSecond, take } = options;
  const stopping = new AbortController();
  let published = 0;

  const publish = async (records: Records): Promise<void> => {
    for (const limit = performance.now() + patienceMs; ; ) {
      try {
        return await client.publish(topic, records);
      } catch (error) {
        if (performance.now() > limit) throw error;
        await delay(retryMs);
      }
    }
  };

  const flow = async (): Promise<void> => {
    for (const startedAt = performance.now(); !stopping.signal.aborted; ) {
      const due = Math.floor(((performance.now() - startedAt) * perSecond) / 1_000) - published;
      const records = due > 0 ? await take(Math.min(due, mostAtOnce)) : [];
      if (records.length > 0) await publish(records);
      published += records.length;
      if (due < mostAtOnce) await delay(tickMs);
    }
  };

  const ended = flow();
  // Whoever does not wait for it meets it when it stops.
  ended.catch(() => undefined);
  return {
    published: () => published,
    ended,
    stop() {
      stopping.abort();
      return ended;
    },
  };
}
