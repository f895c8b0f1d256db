import { Redis } from 'ioredis';
import { type Admin, Kafka, logLevel } from 'kafkajs';
import { pipelineStages } from './kafka.ts';

/** By `<stage>/<partition>`: the offset of the last record applied, -1 for none, and where the input ends. */
export type Places = ReadonlyMap<string, { readonly applied: number; readonly end: number }>;

/** Looks at how far the stages have come. Rejects while Kafka or Redis is away, and connects anew the next time. */
export interface PlaceReader {
  readonly look: (stages?: readonly string[]) => Promise<Places>;
  /** How many timers are set. */
  readonly timers: () => Promise<number>;
  readonly close: () => Promise<void>;
}

const partitions = 12;
const everyStage: readonly string[] = pipelineStages.map(({ stage }) => stage);

/** Reads the places from outside of the product. */
export function createPlaceReader(at: { readonly kafkaBrokers: string; readonly redisUrl: string }): PlaceReader {
  const redis = new Redis(at.redisUrl, { maxRetriesPerRequest: 0, enableOfflineQueue: false });
  // It may be killed on purpose; a look that fails says so.
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

  const look = async (stages: readonly string[]): Promise<Places> => {
    const names = stages.flatMap((stage) =>
      Array.from({ length: partitions }, (_, partition) => ({ stage, partition })),
    );
    const asked = redis.pipeline();
    for (const { stage, partition } of names) asked.hget(`sb:1:{${stage}:${partition}}:position`, 'fence');
    const fences = (await asked.exec()) ?? [];
    const ends = new Map<string, number>();
    const asking = await adminNow();
    for (const { stage, input } of pipelineStages) {
      if (!stages.includes(stage)) continue;
      for (const { partition, high } of await asking.fetchTopicOffsets(input))
        ends.set(`${stage}/${partition}`, Number(high));
    }
    return new Map(
      names.map(({ stage, partition }, index) => {
        const [failed, fence] = fences[index] ?? [];
        if (failed) throw failed;
        const name = `${stage}/${partition}`;
        return [name, { applied: Number(fence ?? -1), end: ends.get(name) ?? 0 }];
      }),
    );
  };

  const timers = async (): Promise<number> => {
    const asked = redis.pipeline();
    for (const stage of everyStage) {
      for (let partition = 0; partition < partitions; partition++)
        asked.zcard(`sb:1:{${stage}:${partition}}:due-times`);
    }
    return ((await asked.exec()) ?? []).reduce((sum, [failed, count]) => {
      if (failed) throw failed;
      return sum + Number(count);
    }, 0);
  };

  return {
    timers,
    async look(stages = everyStage) {
      try {
        return await look(stages);
      } catch (error) {
        const broken = admin;
        admin = undefined;
        // It is thrown away because it fails: how it ends says nothing more.
        broken?.disconnect().catch(() => undefined);
        throw error;
      }
    },
    async close() {
      redis.disconnect();
      await admin?.disconnect();
    },
  };
}
