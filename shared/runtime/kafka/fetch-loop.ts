import type { Log } from '../log.ts';
import type { Cluster, KafkaLimits } from './client.ts';
import { isCausedBy, reasonOf } from './failures.ts';
import { type Fetched, fetchFrom } from './fetch.ts';
import { within } from './within.ts';

/** Who reads: which partitions, from where, and what becomes of what was read. */
export interface FetchSink {
  readonly topic: string;
  /** The partitions that may be read now, and the offset of each. */
  readonly wanted: () => ReadonlyMap<number, bigint>;
  /** Whether others will want to be read soon, so that no fetch may hold up the connection for long. */
  readonly busy: () => boolean;
  /** Resolves when the partition may be read again, or will say so itself. */
  readonly deliver: (fetched: Fetched) => Promise<void> | void;
  /** The offset wanted is no longer kept, or not there yet. */
  readonly outOfRange: (partitions: readonly number[]) => Promise<void> | void;
}

/** Fetches at work. */
export interface FetchLoop {
  /** Looks again at what is wanted. */
  readonly wake: () => void;
  readonly stop: () => void;
}

// A partition that takes longer than this no longer holds up the others; until then, one fetch serves them all.
const togetherMs = 50;

/** Fetches from all brokers that lead partitions of a topic, one request at a time each, until stopped. */
export function startFetchLoop(cluster: Cluster, sink: FetchSink, limits: KafkaLimits, log: Log): FetchLoop {
  const loops = new Set<string>();
  const sleepers = new Set<() => void>();
  let stopped = false;

  const wake = (): void => {
    for (const sleeper of sleepers) sleeper();
  };

  const rest = (ms: number): Promise<void> => {
    if (stopped) return Promise.resolve();
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        sleepers.delete(end);
        resolve();
      };
      const timer = setTimeout(end, ms);
      sleepers.add(end);
    });
  };

  const leaders = (): Readonly<Record<string, readonly number[]>> => {
    const partitions = cluster.findTopicPartitionMetadata(sink.topic).map(({ partitionId }) => partitionId);
    return cluster.findLeaderForPartitions(sink.topic, partitions);
  };

  const round = async (nodeId: string, led: ReadonlySet<number>): Promise<void> => {
    const positions = new Map([...sink.wanted()].filter(([partition]) => led.has(partition)));
    if (positions.size === 0) return rest(limits.fetchWaitMs);
    const waitMs = sink.busy() ? togetherMs : limits.fetchWaitMs;
    const fetched = await fetchFrom(cluster, { nodeId, topic: sink.topic, positions, waitMs, limits });
    if (stopped) return;
    const work = fetched.map((each) => sink.deliver(each)).filter((each) => each instanceof Promise);
    if (work.length > 0) await within(togetherMs, Promise.all(work));
  };

  const recover = async (nodeId: string, error: unknown): Promise<void> => {
    if (isCausedBy(error, 'KafkaJSOffsetOutOfRange')) {
      const partition: unknown = error instanceof Error ? Reflect.get(error, 'partition') : undefined;
      if (typeof partition === 'number') return sink.outOfRange([partition]);
    }
    log.debug({ topic: sink.topic, broker: nodeId, reason: reasonOf(error) }, 'fetch failed');
    if (isCausedBy(error, 'KafkaJSConnectionClosedError') && error instanceof Error) {
      // Error of the client's own making: it names the broker that hung up, which the client would go on using.
      const { host, port } = error as Error & { host: string; port: number };
      cluster.removeBroker({ host, port });
    }
    await rest(limits.retryMs);
    // Stopped meanwhile, it would connect anew what its owner has closed.
    if (!stopped) await cluster.refreshMetadata();
  };

  const run = async (nodeId: string): Promise<void> => {
    while (!stopped) {
      try {
        await cluster.refreshMetadataIfNecessary();
        const led = leaders();
        for (const other of Object.keys(led)) start(other);
        const mine = led[nodeId];
        if (mine === undefined && Object.keys(led).length > 0) break;
        await round(nodeId, new Set(mine));
      } catch (error) {
        if (stopped) break;
        await recover(nodeId, error).catch((again: unknown) => {
          log.debug({ topic: sink.topic, broker: nodeId, reason: reasonOf(again) }, 'brokers out of reach');
        });
      }
    }
    loops.delete(nodeId);
  };

  const start = (nodeId: string): void => {
    if (loops.has(nodeId)) return;
    loops.add(nodeId);
    void run(nodeId);
  };

  // Any name does to begin with: the first round learns the leaders, starts their loops and ends this one.
  start('');

  return {
    wake,
    stop() {
      stopped = true;
      wake();
    },
  };
}
