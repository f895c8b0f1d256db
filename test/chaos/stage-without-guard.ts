import { z } from 'zod';
import { topics } from '../../schemas/index.ts';
import { stages } from '../../services/index.ts';
import { systemClock } from '../../shared/runtime/clock.ts';
import { createCodec } from '../../shared/runtime/codec.ts';
import { readConnectionSettings } from '../../shared/runtime/connection-settings.ts';
import { createKafkaBus } from '../../shared/runtime/kafka.ts';
import { silentLog } from '../../shared/runtime/log.ts';
import { performCall } from '../../shared/runtime/perform-call.ts';
import { createRedisStore } from '../../shared/runtime/redis.ts';
import { createSchemaRegistry } from '../../shared/runtime/registry.ts';
import { runStage } from '../../shared/runtime/run-stage.ts';
import { config as runtimeConfig } from '../../shared/runtime/runtime-settings.ts';
import { createSender } from '../../shared/runtime/sender.ts';

// One real stage in a process of its own with one guard of the scheme switched off, which the product itself cannot do.
const Asked = z.strictObject({
  stage: z.string(),
  without: z.enum(['nothing', 'fence', 'watermarks', 'timers', 'one-in-flight']),
  requestBytes: z.int(),
  commitMs: z.int(),
});
const { stage: name, without, requestBytes, commitMs } = Asked.parse(JSON.parse(process.argv[2] ?? ''));
const stage = stages.get(name);
if (stage === undefined) throw new RangeError(`no stage is called ${name}`);

const connection = readConnectionSettings(process.env);
const bus = await createKafkaBus(connection.kafka, silentLog, { requestTimeoutMs: 3_000 });
const registry = createSchemaRegistry(connection.schemaRegistry);
const running = await runStage({
  stage,
  settings: stage.config.schema.parse({}),
  bus,
  store: await createRedisStore(connection.redis, silentLog),
  codec: await createCodec({ registry, writes: topics }),
  sender: createSender({
    bus,
    clock: systemClock,
    limits: { maxRequestBytes: () => requestBytes, retryMs: 100, inFlight: without === 'one-in-flight' ? 2 : 1 },
  }),
  clock: systemClock,
  runtime: { ...runtimeConfig.schema.parse({}), batchRecords: 50, commitMs },
  perform: performCall,
  log: silentLog,
  observer: { folded: () => undefined, batch: () => undefined, reopened: () => undefined },
  guards: { fence: without !== 'fence', watermarks: without !== 'watermarks', timers: without !== 'timers' },
});
process.on('disconnect', () => process.exit(0));
process.once('SIGTERM', () => void running.stop().finally(() => process.exit(0)));
await running.ended;
