import { BusError } from '../errors.ts';
import type { Bus, Membership, Tail, TopicSpec } from './bus.ts';
import type { KafkaSettings } from './connection-settings.ts';
import { type Admin, createClient, type KafkaLimits, kafkaLimits } from './kafka/client.ts';
import { failureOf, isCausedBy } from './kafka/failures.ts';
import { joinGroup } from './kafka/membership.ts';
import { createRequests } from './kafka/producer.ts';
import { createReader, startTail } from './kafka/reader.ts';
import type { Log } from './log.ts';

/** The log on Kafka. Rejects with `infrastructure-unavailable` when no broker answers; what is lost later comes back by itself. */
export async function createKafkaBus(
  settings: KafkaSettings,
  log: Log,
  bounds: Partial<KafkaLimits> = {},
): Promise<Bus> {
  const limits = { ...kafkaLimits, ...bounds };
  const kafka = await createClient(settings, limits, log);
  const requests = createRequests(kafka, limits);
  const reader = createReader(kafka, limits);
  const admin = kafka.admin({ retry: { initialRetryTime: 100, maxRetryTime: 1_000, retries: 4 } });
  const memberships = new Set<Membership>();
  const tails = new Set<Tail>();

  const asking = async <T>(operation: string, ask: (admin: Admin) => Promise<T>): Promise<T> => {
    try {
      return await ask(admin);
    } catch (error) {
      throw failureOf(operation, error);
    }
  };

  const offsets: Bus['offsets'] = (topic) =>
    asking('offsets', async () => {
      if (!(await admin.listTopics()).includes(topic)) return undefined;
      const found = await admin.fetchTopicOffsets(topic);
      return found
        .toSorted((a, b) => a.partition - b.partition)
        .map(({ low, high }) => ({ start: BigInt(low), end: BigInt(high) }));
    });

  const existing = async (topic: string) => {
    const found = await offsets(topic);
    if (found === undefined) throw new BusError('topic-missing', { topic });
    return found;
  };

  const committed: Bus['committed'] = (group, topic) =>
    asking('committed', async () => {
      const [found] = await admin.fetchOffsets({ groupId: group, topics: [topic] });
      return (found?.partitions ?? [])
        .toSorted((a, b) => a.partition - b.partition)
        .map(({ offset }) => BigInt(offset));
    });

  await asking('connect', () => admin.connect());
  try {
    await requests.connect();
  } catch (error) {
    await admin.disconnect();
    throw error;
  }

  return {
    produce: requests.produce,
    read: reader.read,
    offsets,
    committed,

    async join(group, topic, owner) {
      await existing(topic);
      const membership = joinGroup({
        kafka,
        group,
        topic,
        owner,
        limits,
        log,
        async positions() {
          const [kept, done] = await Promise.all([existing(topic), committed(group, topic)]);
          return (partition) => ({
            committed: done[partition] === undefined || done[partition] < 0n ? 0n : done[partition],
            start: kept[partition]?.start ?? 0n,
          });
        },
      });
      memberships.add(membership);
      return membership;
    },

    async tail(topic, onRecord) {
      const tail = await asking('tail', () =>
        startTail({ kafka, topic, onRecord, limits, log, bounds: () => existing(topic) }),
      );
      tails.add(tail);
      return tail;
    },

    offsetAt: (topic, partition, at) =>
      asking('offset-at', async () => {
        const found = await admin.fetchTopicOffsetsByTimestamp(topic, at);
        return BigInt(found.find((each) => each.partition === partition)?.offset ?? 0);
      }),

    createTopics: (topics) =>
      asking('create-topics', async () => {
        const known = new Set(await admin.listTopics());
        const missing = topics.filter(({ name }) => !known.has(name));
        if (missing.length > 0) await createMissing(admin, missing);
      }),

    async close() {
      await Promise.all([...memberships].map((membership) => membership.leave()));
      await Promise.all([...tails].map((tail) => tail.close()));
      await requests.close();
      await reader.close();
      await admin.disconnect();
    },
  };
}

async function createMissing(admin: Admin, topics: readonly TopicSpec[]): Promise<void> {
  try {
    await admin.createTopics({
      waitForLeaders: true,
      topics: topics.map(({ name, partitions, replicas, config }) => ({
        topic: name,
        numPartitions: partitions,
        replicationFactor: replicas,
        configEntries: Object.entries(config).map(([key, value]) => ({ name: key, value })),
      })),
    });
  } catch (error) {
    // Somebody else created some of them since they were listed; the broker has created the rest.
    if (!isCausedBy(error, 'TOPIC_ALREADY_EXISTS')) throw error;
  }
}
