import { randomUUID } from 'node:crypto';
import { Kafka, logLevel, Partitioners } from 'kafkajs';

/** Bytes for a topic. */
export interface Publication {
  readonly key: string;
  readonly value: Buffer;
}

/** The log, as whoever measures sees it. */
export interface OutsideLog {
  readonly createTopics: (names: readonly string[], partitions: number) => Promise<void>;
  /** Publishes in requests of 500 records, and in order. */
  readonly publish: (topic: string, records: Iterable<Publication>) => Promise<void>;
  /** The records that a topic has held so far. */
  readonly held: (topic: string) => Promise<number>;
  /** Reads what comes from now on, with a plain consumer. */
  readonly watch: (topic: string, onValue: (value: Buffer) => void) => Promise<{ readonly close: () => Promise<void> }>;
  readonly close: () => Promise<void>;
}

const recordsPerRequest = 500;

/** Connects to the log from outside. */
export async function connectLog(brokers: string): Promise<OutsideLog> {
  const kafka = new Kafka({ brokers: brokers.split(','), clientId: 'bench-outside', logLevel: logLevel.NOTHING });
  const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner });
  const admin = kafka.admin();
  await Promise.all([producer.connect(), admin.connect()]);

  return {
    async createTopics(names, partitions) {
      // Stamped by the broker, as the topics of the product are.
      const configEntries = [{ name: 'message.timestamp.type', value: 'LogAppendTime' }];
      await admin.createTopics({
        waitForLeaders: true,
        topics: names.map((topic) => ({ topic, numPartitions: partitions, replicationFactor: 1, configEntries })),
      });
    },
    async publish(topic, records) {
      let messages: Publication[] = [];
      const flush = async (): Promise<void> => {
        if (messages.length > 0) await producer.send({ topic, messages, acks: -1 });
        messages = [];
      };
      for (const record of records) {
        messages.push(record);
        if (messages.length >= recordsPerRequest) await flush();
      }
      await flush();
    },
    held: async (topic) => (await admin.fetchTopicOffsets(topic)).reduce((sum, { high }) => sum + Number(high), 0),
    async watch(topic, onValue) {
      const consumer = kafka.consumer({ groupId: `bench-watch-${randomUUID()}` });
      const joined = new Promise<void>((resolve) => {
        consumer.on('consumer.group_join', () => resolve());
      });
      await consumer.connect();
      await consumer.subscribe({ topic });
      await consumer.run({
        autoCommit: false,
        async eachMessage({ message }) {
          if (message.value !== null) onValue(message.value);
        },
      });
      await joined;
      return { close: () => consumer.disconnect() };
    },
    async close() {
      await Promise.all([producer.disconnect(), admin.disconnect()]);
    },
  };
}
