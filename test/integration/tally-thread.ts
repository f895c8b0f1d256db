import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../../shared/runtime/clock.ts';
import { createCodec } from '../../shared/runtime/codec.ts';
import type { KafkaClientSettings } from '../../shared/runtime/connection-settings.ts';
import { createKafkaBus } from '../../shared/runtime/kafka.ts';
import { silentLog } from '../../shared/runtime/log.ts';
import { foldInThread } from '../../shared/runtime/rebuild-threads.ts';
import { createRedisStore } from '../../shared/runtime/redis.ts';
import { createSchemaRegistry } from '../../shared/runtime/registry.ts';
import { runtimeWith } from '../../shared/testing/counting-world.ts';
import { tally, topics } from './tally.ts';

/** What a thread that folds the tally is told. */
export interface TallyThread {
  readonly kafka: KafkaClientSettings;
  readonly redisUrl: string;
  readonly schemaRegistryUrl: string;
}

if (parentPort === null) throw new Error('only to be started as a thread');
// Given by the test that started it.
const { kafka, redisUrl, schemaRegistryUrl } = workerData as TallyThread;

await foldInThread(parentPort, async () => ({
  ...{ stage: tally, settings: {}, tables: {}, clock: systemClock, runtime: runtimeWith({}) },
  bus: await createKafkaBus(kafka, silentLog),
  store: await createRedisStore({ url: redisUrl }, silentLog),
  codec: await createCodec({ registry: createSchemaRegistry({ url: schemaRegistryUrl }), writes: topics }),
}));
