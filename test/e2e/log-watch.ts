import { randomUUID } from 'node:crypto';
import { Kafka, logLevel } from 'kafkajs';
import { vi } from 'vitest';
import { type LogRecord, readFrame, readHeader } from './checker/log.ts';

/** What has come on some topics since a test began to look, as a reader sees it who drops repeats. */
export interface LogWatch {
  /** The records of a topic so far, those of one partition in their order. */
  readonly of: (topic: string) => readonly LogRecord[];
  /** Waits until everything that lies on these topics now has been read. */
  readonly caughtUp: () => Promise<void>;
  readonly close: () => Promise<void>;
}

const patience = { timeout: 60_000, interval: 20 };

/** Watches topics from where they end now, with a client and a group of its own. */
export async function watchLog(brokers: readonly string[], topics: readonly string[]): Promise<LogWatch> {
  const kafka = new Kafka({ brokers: [...brokers], clientId: 'watch', logLevel: logLevel.NOTHING });
  const [admin, groupId] = [kafka.admin(), `watch-${randomUUID()}`];
  const consumer = kafka.consumer({ groupId, maxWaitTimeInMs: 50 });
  await Promise.all([admin.connect(), consumer.connect()]);
  const records = new Map<string, LogRecord[]>(topics.map((topic) => [topic, []]));
  const origins = new Set<string>();
  const next = new Map<string, bigint>();
  const ends = async (): Promise<readonly { topic: string; partition: number; end: bigint }[]> => {
    const all = await Promise.all(
      topics.map(async (topic) =>
        (await admin.fetchTopicOffsets(topic)).map(({ partition, high }) => ({ topic, partition, end: BigInt(high) })),
      ),
    );
    return all.flat();
  };
  const begin = await ends();
  for (const { topic, partition, end } of begin) next.set(`${topic}/${partition}`, end);

  let crash: Error | undefined;
  consumer.on('consumer.crash', ({ payload }) => {
    // A broker that has just begun may not know its groups yet: that is tried again by itself.
    if (!payload.restart) crash = payload.error;
  });
  const joined = new Promise((resolve) => consumer.on('consumer.group_join', resolve));
  await consumer.subscribe({ topics: [...topics], fromBeginning: true });
  await consumer.run({
    autoCommit: false,
    async eachBatch({ batch: { topic, partition, messages } }) {
      const name = `${topic}/${partition}`;
      for (const { offset, timestamp, key, value, headers } of messages) {
        if (BigInt(offset) < (next.get(name) ?? 0n)) continue;
        next.set(name, BigInt(offset) + 1n);
        const sb = headers?.sb;
        const header = readHeader(Buffer.isBuffer(sb) ? sb : undefined);
        const isRepeat = header.from !== undefined && origins.has(`${topic} ${header.from}`);
        if (header.from !== undefined) origins.add(`${topic} ${header.from}`);
        if (isRepeat) continue;
        records.get(topic)?.push({
          ...{ topic, partition, offset: BigInt(offset), at: Number(timestamp) },
          key: key?.toString('utf8') ?? '',
          value: value === null ? undefined : readFrame(value),
          ...header,
        });
      }
    },
  });
  await joined;
  for (const { topic, partition, end } of begin) consumer.seek({ topic, partition, offset: String(end) });

  return {
    of: (topic) => records.get(topic) ?? [],
    async caughtUp() {
      const wanted = await ends();
      await vi.waitUntil(() => {
        if (crash !== undefined) throw crash;
        return wanted.every(({ topic, partition, end }) => (next.get(`${topic}/${partition}`) ?? 0n) >= end);
      }, patience);
    },
    async close() {
      await consumer.disconnect();
      await admin.deleteGroups([groupId]);
      await admin.disconnect();
    },
  };
}
