import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { BusError } from '../../errors.ts';
import type { Bus, IncomingRecord, Tail } from '../bus.ts';
import type { Log } from '../log.ts';
import { type Cluster, createConsumer, type Kafka, type KafkaLimits } from './client.ts';
import { failureOf } from './failures.ts';
import { fetchFrom } from './fetch.ts';
import { startFetchLoop } from './fetch-loop.ts';
import { replaceable } from './replaceable.ts';

type Connection = ReturnType<typeof createConsumer>;
type Bounds = () => Promise<readonly { readonly start: bigint; readonly end: bigint }[]>;

// What a record takes, about: a look at a few of them does not decode hundreds.
const recordBytes = 4_096;

/** Connections of a consumer that never joins its group: to read from any offset, beside all groups. */
async function connectReader(kafka: Kafka, limits: KafkaLimits): Promise<Connection> {
  const reader = createConsumer(kafka, {
    groupId: `signalbox-reader-${randomUUID()}`,
    metadataMaxAge: limits.metadataMaxAgeMs,
    allowAutoTopicCreation: false,
  });
  await reader.consumer.connect();
  return reader;
}

/** Reads stretches of partitions, over connections that stay open between the calls. */
export function createReader(
  kafka: Kafka,
  limits: KafkaLimits,
): { readonly read: Bus['read']; readonly close: () => Promise<void> } {
  const connections = replaceable<Connection>({
    connect: () => connectReader(kafka, limits),
    disconnect: ({ consumer }) => consumer.disconnect(),
    isSound: () => false,
  });

  const leaderOf = async (cluster: Cluster, topic: string, partition: number): Promise<string> => {
    await cluster.addTargetTopic(topic);
    await cluster.refreshMetadataIfNecessary();
    const [leader] = Object.keys(cluster.findLeaderForPartitions(topic, [partition]));
    if (leader === undefined) throw new BusError('topic-missing', { topic, partition });
    return leader;
  };

  return {
    async read({ topic, partition, offset, limit, atOnce }) {
      // A broker sends at least one whole batch, however little is asked for.
      const bounds = { ...limits, fetchPartitionBytes: Math.min(limits.fetchPartitionBytes, limit * recordBytes) };
      try {
        return await connections.use(async ({ cluster }) => {
          const nodeId = await leaderOf(cluster, topic, partition);
          const records: IncomingRecord[] = [];
          for (let next = offset; records.length < limit; ) {
            const positions = new Map([[partition, next]]);
            const [fetched] = await fetchFrom(cluster, { nodeId, topic, positions, waitMs: 1, limits: bounds });
            if (fetched === undefined || fetched.next === next) break;
            records.push(...fetched.records.slice(0, limit - records.length));
            next = fetched.next;
            if (atOnce && records.length > 0) break;
          }
          return records;
        });
      } catch (error) {
        throw failureOf('read', error);
      }
    },
    close: connections.close,
  };
}

/** Reads a topic from its start and goes on, whatever happens to its brokers. */
export async function startTail(options: {
  readonly kafka: Kafka;
  readonly topic: string;
  readonly bounds: Bounds;
  readonly onRecord: (partition: number, record: IncomingRecord) => void;
  readonly limits: KafkaLimits;
  readonly log: Log;
}): Promise<Tail> {
  const { topic, bounds, onRecord, limits, log } = options;
  const atStart = await bounds();
  const positions = new Map(atStart.map(({ start }, partition) => [partition, start]));
  const ready = Promise.withResolvers<void>();
  const { consumer, cluster } = await connectReader(options.kafka, limits);
  await cluster.addTargetTopic(topic);

  const lookWhetherReady = (): void => {
    if (atStart.every(({ end }, partition) => (positions.get(partition) ?? 0n) >= end)) ready.resolve();
  };

  const sink = {
    topic,
    wanted: () => positions,
    busy: () => false,
    deliver: ({ partition, records, next }: Awaited<ReturnType<typeof fetchFrom>>[number]) => {
      for (const record of records) onRecord(partition, record);
      positions.set(partition, next);
      lookWhetherReady();
    },
    async outOfRange(partitions: readonly number[]) {
      const now = await bounds();
      for (const partition of partitions) positions.set(partition, now[partition]?.start ?? 0n);
      log.warn({ topic, partitions }, 'records left the topic before they were read');
      lookWhetherReady();
      await sleep(limits.retryMs);
    },
  };
  const loop = startFetchLoop(cluster, sink, limits, log);
  lookWhetherReady();

  return {
    ready: ready.promise,
    async close() {
      loop.stop();
      await consumer.disconnect();
    },
  };
}
