import { setTimeout as sleep } from 'node:timers/promises';
import type { Bus, TopicSpec } from '../bus.ts';
import type { Admin, Kafka } from './client.ts';
import { failureOf, isCausedBy } from './failures.ts';
import { inspect } from './inspection.ts';
import { replaceable } from './replaceable.ts';

/** What is asked of the brokers about topics and groups. */
export type TopicAdmin = Pick<Bus, 'offsets' | 'offsetAt' | 'committed' | 'inspect' | 'createTopics' | 'close'> & {
  readonly connect: () => Promise<void>;
};

// Leaders are elected within milliseconds, and other brokers learn of them a little later.
const electionTries = 25;
const electionWaitMs = 200;
const byPartition = (a: { readonly partition: number }, b: { readonly partition: number }) => a.partition - b.partition;

/** Asks the brokers; waits a moment for partitions and groups whose leader is being elected. */
export function createAdmin(kafka: Kafka): TopicAdmin {
  const clients = replaceable<Admin>({
    async connect() {
      const admin = kafka.admin();
      await admin.connect();
      return admin;
    },
    disconnect: (admin) => admin.disconnect(),
    // The client keeps what it knows of leaders for minutes: after a failure a new one asks again.
    isSound: () => false,
  });

  const asking = async <T>(operation: string, ask: (admin: Admin) => Promise<T>): Promise<T> => {
    for (let tries = 1; ; tries++) {
      try {
        return await clients.use(ask);
      } catch (error) {
        if (tries >= electionTries || !isElecting(error)) throw failureOf(operation, error);
        await sleep(electionWaitMs);
      }
    }
  };

  const offsets: Bus['offsets'] = (topic) =>
    asking('offsets', async (admin) => {
      if (!(await admin.listTopics()).includes(topic)) return undefined;
      const found = await admin.fetchTopicOffsets(topic);
      return found.toSorted(byPartition).map(({ low, high }) => ({ start: BigInt(low), end: BigInt(high) }));
    });

  return {
    offsets,
    connect: () => asking('connect', async () => undefined),

    committed: (group, topic) =>
      asking('committed', async (admin) => {
        const [found] = await admin.fetchOffsets({ groupId: group, topics: [topic] });
        return (found?.partitions ?? []).toSorted(byPartition).map(({ offset }) => BigInt(offset));
      }),

    offsetAt: (topic, partition, at) =>
      asking('offset-at', async (admin) => {
        const found = await admin.fetchTopicOffsetsByTimestamp(topic, at);
        return BigInt(found.find((each) => each.partition === partition)?.offset ?? 0);
      }),

    inspect: (wanted) => asking('inspect', (admin) => inspect(kafka, admin, wanted)),

    async createTopics(topics) {
      const missing = await asking('create-topics', async (admin) => {
        const known = new Set(await admin.listTopics());
        const unknown = topics.filter(({ name }) => !known.has(name));
        if (unknown.length > 0) await createMissing(admin, unknown);
        return unknown;
      });
      // A topic whose partitions have no leader yet is not there for those who come next.
      for (const { name } of missing) await offsets(name);
    },

    close: clients.close,
  };
}

const isElecting = (error: unknown): boolean =>
  isCausedBy(
    error,
    'NOT_LEADER_FOR_PARTITION',
    'LEADER_NOT_AVAILABLE',
    'UNKNOWN_TOPIC_OR_PARTITION',
    'NOT_COORDINATOR_FOR_GROUP',
    'GROUP_COORDINATOR_NOT_AVAILABLE',
    'GROUP_LOAD_IN_PROGRESS',
  );

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
