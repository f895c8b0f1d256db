import { BusError } from '../errors.ts';
import type { Bus, Membership, Tail } from './bus.ts';
import type { KafkaClientSettings } from './connection-settings.ts';
import { createAdmin } from './kafka/admin.ts';
import { createClient, type KafkaLimits, kafkaLimits } from './kafka/client.ts';
import { failureOf } from './kafka/failures.ts';
import { joinGroup } from './kafka/membership.ts';
import { createProducer, produce } from './kafka/producer.ts';
import { createReader, startTail } from './kafka/reader.ts';
import type { Log } from './log.ts';

/** The log on Kafka. Rejects with `infrastructure-unavailable` when no broker answers; what is lost later comes back by itself. */
export async function createKafkaBus(
  settings: KafkaClientSettings,
  log: Log,
  bounds: Partial<KafkaLimits> = {},
): Promise<Bus> {
  const { sessionTimeoutMs = kafkaLimits.sessionTimeoutMs } = settings;
  const limits = { ...kafkaLimits, sessionTimeoutMs, ...bounds };
  const kafka = await createClient(settings, limits, log);
  const producers = new Map<string, ReturnType<typeof createProducer>>();
  const reader = createReader(kafka, limits);
  const admin = createAdmin(kafka);
  const memberships = new Set<Membership>();
  const tails = new Set<Tail>();

  const existing = async (topic: string) => {
    const found = await admin.offsets(topic);
    if (found === undefined) throw new BusError('topic-missing', { topic });
    return found;
  };

  const producerOf = (name: string) => {
    const producer = producers.get(name) ?? createProducer(kafka, limits);
    producers.set(name, producer);
    return producer;
  };

  await admin.connect();

  return {
    produce: (records, producer = '') => produce(producerOf(producer), records, limits),
    read: reader.read,
    offsets: admin.offsets,
    offsetAt: admin.offsetAt,
    committed: admin.committed,
    inspect: admin.inspect,
    createTopics: admin.createTopics,

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
          const [kept, done] = await Promise.all([existing(topic), admin.committed(group, topic)]);
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
      try {
        const tail = await startTail({ kafka, topic, onRecord, limits, log, bounds: () => existing(topic) });
        tails.add(tail);
        return tail;
      } catch (error) {
        throw failureOf('tail', error);
      }
    },

    async close() {
      await Promise.all([...memberships].map((membership) => membership.leave()));
      await Promise.all([...tails].map((tail) => tail.close()));
      await Promise.all([...producers.values()].map((producer) => producer.close()));
      await reader.close();
      await admin.close();
    },
  };
}
