import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { ConfigResourceTypes, Kafka, logLevel } from 'kafkajs';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { z } from 'zod';
import { defineTopic, type Keep } from '../../schemas/define.ts';
import { topics } from '../../schemas/index.ts';
import { migrate } from '../../services/cli/migrate.ts';
import { jsonSchemaText, subjectOf } from '../../shared/json-schema.ts';
import type { Bus } from '../../shared/runtime/bus.ts';
import { createKafkaBus } from '../../shared/runtime/kafka.ts';
import { silentLog } from '../../shared/runtime/log.ts';
import { createRedisStore } from '../../shared/runtime/redis.ts';
import { createSchemaRegistry } from '../../shared/runtime/registry.ts';
import type { SchemaRegistry } from '../../shared/runtime/schema-registry.ts';
import type { Store } from '../../shared/runtime/store.ts';
import { settingsOf, signalbox, signalboxJson } from './signalbox.ts';

const infrastructure = inject('infrastructure');
const settings = settingsOf(infrastructure);
const brokers = infrastructure.kafkaBrokers.split(',');
const deployment = { partitions: 2, replicas: 1 };
const admin = new Kafka({ brokers, logLevel: logLevel.NOTHING }).admin();
const redis = new Redis(infrastructure.redisUrl);

let ports: { readonly bus: Bus; readonly store: Store; readonly registry: SchemaRegistry };

beforeAll(async () => {
  await admin.connect();
  ports = {
    bus: await createKafkaBus({ brokers, clientId: 'migrate-test', tls: false }, silentLog),
    store: await createRedisStore({ url: infrastructure.redisUrl }, silentLog),
    registry: createSchemaRegistry({ url: infrastructure.schemaRegistryUrl }),
  };
});
afterAll(async () => {
  await Promise.all([admin.disconnect(), ports.bus.close(), ports.store.close(), redis.quit()]);
});

const topicOf = (keep: Keep, value: z.ZodType = z.object({}), name = `migrate-${randomUUID()}`) =>
  defineTopic({ name, summary: 'x', value, key: () => 'k', keep, example: {} });

async function configOf(topic: string, names: readonly string[]): Promise<Readonly<Record<string, string>>> {
  const described = await admin.describeConfigs({
    includeSynonyms: false,
    resources: [{ type: ConfigResourceTypes.TOPIC, name: topic, configNames: [...names] }],
  });
  const entries = described.resources.flatMap(({ configEntries }) => configEntries);
  return Object.fromEntries(entries.map(({ configName, configValue }) => [configName, configValue]));
}

test('after a migration every topic and schema is there, and another one changes nothing', async () => {
  const names = topics.map(({ name }) => name);
  const first = z
    .array(z.object({ topic: z.string(), schemaId: z.int() }))
    .parse(await signalboxJson(settings, 'migrate'));
  expect(first.map(({ topic }) => topic)).toEqual(names);
  const again = await signalboxJson(settings, 'migrate');
  expect(again).toEqual(
    first.map(({ topic, schemaId }) => ({ topic, partitions: 12, log: 'unchanged', schema: 'unchanged', schemaId })),
  );
  const shown = z
    .array(z.object({ topic: z.string(), partitions: z.int(), schemaId: z.int() }))
    .parse(await signalboxJson(settings, 'topics'));
  expect(shown).toEqual(first.map(({ topic, schemaId }) => ({ topic, partitions: 12, schemaId })));
});

test('topics are created as they are declared', async () => {
  const [kept, compacted] = [topicOf({ days: 7 }), topicOf('compacted')];
  await migrate([kept, compacted], deployment, ports);
  expect(
    await configOf(kept.name, ['cleanup.policy', 'retention.ms', 'message.timestamp.type', 'max.message.bytes']),
  ).toEqual({
    'cleanup.policy': 'delete',
    'retention.ms': '604800000',
    'message.timestamp.type': 'LogAppendTime',
    'max.message.bytes': '1048576',
  });
  expect(
    await configOf(compacted.name, ['cleanup.policy', 'min.cleanable.dirty.ratio', 'max.compaction.lag.ms']),
  ).toEqual({
    'cleanup.policy': 'compact',
    'min.cleanable.dirty.ratio': '0.1',
    'max.compaction.lag.ms': '86400000',
  });
});

test('another number of partitions is refused, by code and with what to do', async () => {
  await signalbox(settings, 'migrate');
  const { code, out, err } = await signalbox({ ...settings, SIGNALBOX_PARTITIONS: '5' }, 'migrate');
  expect([code, out]).toEqual([1, '']);
  expect(err).toContain('partition-count-changed');
  expect(err).toContain('raw-provider-facts has 12');
  expect(err).toContain('→ Set SIGNALBOX_PARTITIONS to the number that exists');
});

test('an incompatible schema is refused before anything is changed', async () => {
  const before = topicOf({ days: 1 }, z.object({ n: z.string() }));
  await migrate([before], deployment, ports);
  const after = topicOf({ days: 1 }, z.object({ n: z.int() }), before.name);
  const other = topicOf({ days: 1 });
  await expect(migrate([other, after], deployment, ports)).rejects.toMatchObject({ code: 'schema-incompatible' });
  expect(await ports.bus.offsets(other.name)).toBeUndefined();
  expect(await ports.registry.idOf(subjectOf(other), jsonSchemaText(other))).toBeUndefined();
});

test('a Redis that may evict is refused before anything else', async () => {
  const topic = topicOf({ days: 1 });
  await redis.config('SET', 'maxmemory-policy', 'allkeys-lru');
  try {
    await expect(migrate([topic], deployment, ports)).rejects.toMatchObject({ code: 'redis-may-evict' });
  } finally {
    await redis.config('SET', 'maxmemory-policy', 'noeviction');
  }
  expect(await ports.bus.offsets(topic.name)).toBeUndefined();
});
