import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { type Admin, Kafka, logLevel } from 'kafkajs';
import { pipelineStages } from '../e2e/kafka.ts';

const partitions = 12;
const [betweenLooksMs, staleMs] = [200, 2_000];

interface Look {
  /** By `<stage>/<partition>`: the offset of the last record applied, and where the input ends. */
  readonly places: ReadonlyMap<string, { readonly applied: number; readonly end: number }>;
}

/** Watches how far every partition of every stage has come. */
export interface Progress {
  /** Something has happened: from now on until every partition of these stages has applied a record that came after it. */
  readonly moved: (stages: readonly string[], what: string) => void;
  /** The times that it took until all partitions had gone on, by what had happened. */
  readonly times: ReadonlyMap<string, readonly number[]>;
  /** Records that lie before the stages; without end, if nobody could look lately. */
  readonly behind: () => Readonly<Record<string, number>>;
  readonly close: () => Promise<void>;
}

/** Begins to watch; what is out of reach for a while is looked at later. */
export async function watchProgress(at: {
  readonly kafkaBrokers: string;
  readonly redisUrl: string;
}): Promise<Progress> {
  const redis = new Redis(at.redisUrl, { maxRetriesPerRequest: 0, enableOfflineQueue: false });
  // It is killed on purpose; a look that fails says so.
  redis.on('error', () => undefined);
  const kafka = new Kafka({
    brokers: at.kafkaBrokers.split(','),
    clientId: 'watch',
    logLevel: logLevel.NOTHING,
    retry: { retries: 0 },
  });
  let admin: Admin | undefined;
  const adminNow = async (): Promise<Admin> => {
    if (admin !== undefined) return admin;
    const fresh = kafka.admin();
    await fresh.connect();
    admin = fresh;
    return fresh;
  };
  let lookedAt = Number.NEGATIVE_INFINITY;
  const times = new Map<string, number[]>();
  let waiting: { readonly what: string; readonly at: number; readonly before: Look; readonly left: Set<string> }[] = [];
  let last: Look = { places: new Map() };

  const look = async (): Promise<Look> => {
    const names = pipelineStages.flatMap(({ stage }) =>
      Array.from({ length: partitions }, (_, partition) => ({ stage, partition })),
    );
    const asked = redis.pipeline();
    for (const { stage, partition } of names) asked.hget(`sb:1:{${stage}:${partition}}:position`, 'fence');
    const fences = (await asked.exec()) ?? [];
    const ends = new Map<string, number>();
    const asking = await adminNow();
    for (const { stage, input } of pipelineStages) {
      for (const { partition, high } of await asking.fetchTopicOffsets(input))
        ends.set(`${stage}/${partition}`, Number(high));
    }
    return {
      places: new Map(
        names.map(({ stage, partition }, index) => {
          const [failed, fence] = fences[index] ?? [];
          if (failed) throw failed;
          const name = `${stage}/${partition}`;
          return [name, { applied: Number(fence ?? -1), end: ends.get(name) ?? 0 }];
        }),
      ),
    };
  };

  const closing = new AbortController();
  const watching = (async () => {
    while (!closing.signal.aborted) {
      try {
        last = await look();
        lookedAt = performance.now();
        for (const each of waiting) {
          for (const name of each.left) {
            // What came after it has been applied: before that, the partition may just have had nothing to do.
            const end = each.before.places.get(name)?.end ?? 0;
            if ((last.places.get(name)?.applied ?? -1) >= end) each.left.delete(name);
          }
          if (each.left.size > 0) continue;
          times.set(each.what, [...(times.get(each.what) ?? []), performance.now() - each.at]);
        }
        waiting = waiting.filter(({ left }) => left.size > 0);
      } catch {
        // Kafka or Redis is away, which is what this run is about: the next look is as good, with connections of its own.
        const broken = admin;
        admin = undefined;
        broken?.disconnect().catch(() => undefined);
      }
      await delay(betweenLooksMs);
    }
  })();

  return {
    moved(stages, what) {
      const left = new Set([...last.places.keys()].filter((name) => stages.includes(name.split('/')[0] ?? '')));
      waiting.push({ what, at: performance.now(), before: last, left });
    },
    times,
    behind: () =>
      Object.fromEntries(
        pipelineStages.map(({ stage }) => [
          stage,
          [...last.places]
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
      redis.disconnect();
      await admin?.disconnect();
    },
  };
}
