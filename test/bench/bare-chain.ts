// What the product is measured against, as a process of its own: three kafkajs consumers that parse JSON, print it, write to
// Redis with one script a batch, and forward. Nothing is checked, decided, kept in order across retries or told twice.
import { Redis } from 'ioredis';
import { type EachBatchPayload, Kafka, logLevel, Partitioners } from 'kafkajs';

const [brokers = '', redisUrl = '', ...topics] = process.argv.slice(2);
const kafka = new Kafka({ brokers: brokers.split(','), clientId: 'bench-bare', logLevel: logLevel.NOTHING });
const redis = new Redis(redisUrl);
const write = "redis.call('HSET', KEYS[1], unpack(ARGV)) return 1";
const closing: (() => Promise<unknown>)[] = [];

async function startHop(from: string, to: string): Promise<void> {
  const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner });
  // As much of a partition at once as the product takes.
  const consumer = kafka.consumer({ groupId: `bench-bare.${from}`, maxBytesPerPartition: 512 * 1_024 });
  await Promise.all([producer.connect(), consumer.connect()]);
  await consumer.subscribe({ topic: from, fromBeginning: true });
  const joined = new Promise<void>((resolve) => {
    consumer.on('consumer.group_join', () => resolve());
  });

  const eachBatch = async ({ batch }: EachBatchPayload): Promise<void> => {
    const rows: string[] = [];
    const messages = batch.messages.map(({ key, value, offset }) => {
      rows.push(key?.toString('utf8') ?? '', offset);
      return { key, value: JSON.stringify(JSON.parse(value?.toString('utf8') ?? 'null')) };
    });
    await producer.send({ topic: to, messages, acks: -1 });
    await redis.eval(write, 1, `bench:${from}:${batch.partition}`, ...rows);
  };
  await consumer.run({ partitionsConsumedConcurrently: 12, autoCommitInterval: 1_000, eachBatch });
  await joined;
  closing.push(async () => {
    await consumer.disconnect();
    await producer.disconnect();
  });
}

process.once('SIGTERM', () => {
  void Promise.all(closing.map((close) => close())).then(() => {
    redis.disconnect();
    process.exit(0);
  });
});
await Promise.all(topics.slice(1).map((to, hop) => startHop(topics[hop] ?? '', to)));
process.stdout.write('ready\n');
