import { Worker } from 'node:worker_threads';
import { Redis } from 'ioredis';
import { expect, inject, test, vi } from 'vitest';
import { z } from 'zod';
import { jsonSchemaText, subjectOf } from '../../shared/json-schema.ts';
import { partitionOf } from '../../shared/partition.ts';
import { systemClock } from '../../shared/runtime/clock.ts';
import { createCodec } from '../../shared/runtime/codec.ts';
import { createKafkaBus } from '../../shared/runtime/kafka.ts';
import { silentLog } from '../../shared/runtime/log.ts';
import { performCall } from '../../shared/runtime/perform-call.ts';
import { rebuildStage } from '../../shared/runtime/rebuild.ts';
import { startRebuildThreads } from '../../shared/runtime/rebuild-threads.ts';
import { createRedisStore } from '../../shared/runtime/redis.ts';
import { createSchemaRegistry } from '../../shared/runtime/registry.ts';
import { runStage } from '../../shared/runtime/run-stage.ts';
import { createSender } from '../../shared/runtime/sender.ts';
import { runtimeWith } from '../../shared/testing/counting-world.ts';
import { topicShapeOf } from '../../shared/topic-config.ts';
import { strokes, Tally, tally, told, topics } from './tally.ts';
import type { TallyThread } from './tally-thread.ts';

const partitions = 4;
const records = 20_000;
const patience = { timeout: 60_000, interval: 100 };

async function world() {
  const { kafkaBrokers, redisUrl, schemaRegistryUrl } = inject('infrastructure');
  const kafka = { brokers: kafkaBrokers.split(','), clientId: 'rebuild', tls: false };
  const registry = createSchemaRegistry({ url: schemaRegistryUrl });
  const connect = () => createKafkaBus(kafka, silentLog);
  const [bus, store] = [await connect(), await createRedisStore({ url: redisUrl }, silentLog)];
  for (const topic of topics) await registry.register(subjectOf(topic), jsonSchemaText(topic));
  await bus.createTopics(
    topics.map((topic) =>
      topicShapeOf(topic, {
        partitions: [strokes.name, told.name].includes(topic.name) ? partitions : 12,
        replicas: 1,
      }),
    ),
  );
  const codec = await createCodec({ registry, writes: topics });
  const closing: (() => Promise<unknown>)[] = [];
  const limits = { maxRequestBytes: () => 900_000, retryMs: 500, inFlight: 1 } as const;
  const sender = createSender({ bus, clock: systemClock, limits });
  return {
    bus,
    store,
    codec,
    redisUrl,
    stroke: (keys: readonly string[]) =>
      sender.send(
        keys.map((key) => ({
          topic: strokes.name,
          partition: partitionOf(key, partitions),
          key: Buffer.from(key),
          value: codec.encode(strokes, { key }),
        })),
      ),
    async count(key: string): Promise<number> {
      const [json] = await store.load({ stage: tally.name, partition: partitionOf(key, partitions) }, [
        `tallies:${key}`,
      ]);
      return json === undefined ? 0 : z.object({ v: Tally }).parse(JSON.parse(json)).v.count;
    },
    /** Starts a copy of the stage with connections of its own. */
    async start() {
      const [ownBus, ownStore] = [await connect(), await createRedisStore({ url: redisUrl }, silentLog)];
      const running = await runStage({
        ...{ stage: tally, settings: {}, bus: ownBus, store: ownStore, codec, clock: systemClock, log: silentLog },
        sender: createSender({ bus: ownBus, clock: systemClock, limits }),
        runtime: runtimeWith({}),
        perform: performCall,
        observer: { folded: () => undefined, batch: () => undefined, reopened: () => undefined },
      });
      closing.push(async () => {
        await running.stop();
        await Promise.all([ownBus.close(), ownStore.close()]);
      });
    },
    async rebuild({ inThreads }: { readonly inThreads: boolean }) {
      const told: TallyThread = { kafka, redisUrl, schemaRegistryUrl };
      const start = () => new Worker(new URL('./tally-thread.ts', import.meta.url), { workerData: told });
      const threads = inThreads ? startRebuildThreads({ threads: 2, each: 2, start }) : undefined;
      const rebuilt = await rebuildStage({
        ...{ stage: tally, settings: {}, tables: {}, bus, store, codec, clock: systemClock, runtime: runtimeWith({}) },
        ...{ parallel: partitions, threads, graceMs: 500, onStep: () => undefined },
      });
      await threads?.close();
      return rebuilt;
    },
    async close() {
      for (const each of closing) await each();
      await Promise.all([bus.close(), store.close()]);
    },
  };
}

test('a projection is rebuilt while facts flow: its readers see no gap and no step back, and all is told once in effect', {
  timeout: 240_000,
}, async ({ annotate }) => {
  const { bus, codec, stroke, count, start, rebuild, redisUrl, close } = await world();
  const keys = Array.from({ length: 200 }, (_, index) => `key-${index}`);
  const watched = keys.slice(0, 12);
  await start();
  await start();
  for (let round = 0; round < records / keys.length; round += 10) {
    await stroke(Array.from({ length: 10 }, () => keys).flat());
  }
  await vi.waitFor(async () => {
    for (const key of keys) expect(await count(key)).toBe(records / keys.length);
  }, patience);

  const ended = new AbortController();
  let strokesMore = 0;
  const flowing = (async () => {
    while (!ended.signal.aborted) {
      await stroke(watched);
      strokesMore++;
      await systemClock.sleep(5, ended.signal);
    }
  })();
  const wrong: string[] = [];
  let reads = 0;
  const reading = (async () => {
    for (const seen = new Map<string, number>(); !ended.signal.aborted; ) {
      for (const key of watched) {
        const [before, now] = [seen.get(key) ?? 0, await count(key)];
        if (now < before) wrong.push(`${key} went from ${before} to ${now}`);
        seen.set(key, now);
        reads++;
      }
    }
  })();

  const first = await rebuild({ inThreads: false });
  const second = await rebuild({ inThreads: true });
  ended.abort();
  await Promise.all([flowing, reading]);
  for (const { records, foldMs, generation } of [first, second]) {
    const rate = Math.round((records * 1_000) / foldMs);
    await annotate(`generation ${generation}: ${records} records in ${foldMs} ms beside live work: ${rate}/s`);
  }
  expect([first.generation, second.generation, first.resumed]).toEqual([2, 3, false]);
  expect(first.records).toBeGreaterThanOrEqual(records);
  expect(second.records).toBeGreaterThanOrEqual(first.records);
  expect(wrong).toEqual([]);
  expect(reads).toBeGreaterThan(100);

  const all = records / keys.length + strokesMore;
  await vi.waitFor(async () => {
    for (const key of watched) expect(await count(key)).toBe(all);
  }, patience);
  const heard = new Map<string, number[]>(watched.map((key) => [key, []]));
  for (const [partition, { end }] of ((await bus.offsets(told.name)) ?? []).entries()) {
    const origins = new Set<string | undefined>();
    for (const { value, header } of await bus.read({ topic: told.name, partition, offset: 0n, limit: Number(end) })) {
      if (origins.has(header)) continue;
      origins.add(header);
      const decoded = await codec.decode(told, value);
      if (decoded.type === 'value') heard.get(decoded.value.key)?.push(decoded.value.count);
    }
  }
  const once = Array.from({ length: all }, (_, index) => index + 1);
  expect(heard).toEqual(new Map(watched.map((key) => [key, once])));

  const redis = new Redis(redisUrl);
  const generations = new Set<string | undefined>();
  for await (const found of redis.scanStream({ match: `sb:[0-9]*:{${tally.name}:*`, count: 1_000 })) {
    for (const key of found as string[]) generations.add(key.split(':')[1]);
  }
  await redis.quit();
  expect(generations).toEqual(new Set(['3']));
  await close();
});
