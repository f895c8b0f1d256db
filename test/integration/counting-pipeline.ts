import { Redis } from 'ioredis';
import { z } from 'zod';
import type { Topic } from '../../schemas/define.ts';
import { jsonSchemaText, subjectOf } from '../../shared/json-schema.ts';
import { partitionOf } from '../../shared/partition.ts';
import type { Bus, IncomingRecord } from '../../shared/runtime/bus.ts';
import { systemClock } from '../../shared/runtime/clock.ts';
import { type Codec, createCodec } from '../../shared/runtime/codec.ts';
import { parseHeader } from '../../shared/runtime/header.ts';
import { createKafkaBus } from '../../shared/runtime/kafka.ts';
import { silentLog } from '../../shared/runtime/log.ts';
import { performCall } from '../../shared/runtime/perform-call.ts';
import { createRedisStore } from '../../shared/runtime/redis.ts';
import { createSchemaRegistry } from '../../shared/runtime/registry.ts';
import { type RunningStage, runStage } from '../../shared/runtime/run-stage.ts';
import type { RuntimeSettings } from '../../shared/runtime/runtime-settings.ts';
import { createSender, type Sender } from '../../shared/runtime/sender.ts';
import type { CallAnswer, CallRequest } from '../../shared/stage/effects.ts';
import { type Ask, asks, counted, counting, counts } from '../../shared/testing/counting-stage.ts';
import { countingTopics, runtimeWith } from '../../shared/testing/counting-world.ts';
import { topicShapeOf } from '../../shared/topic-config.ts';
import type { Addresses } from '../harness/parts.ts';

/** The number of partitions of `asks` and `counted`; the other topics have as many as everywhere. */
export const partitions = 4;

// A steady load that leaves the machine to what is tested.
const betweenAsksMs = 10;

/** The partition in which the asks of a key lie. */
export const partitionOfKey = (key: string): number => partitionOf(key, partitions);

const StoredCount = z.object({ v: counts.value });

/** A value of a topic and the record that it was made from. */
export interface Found<V> {
  readonly value: V;
  readonly record: IncomingRecord;
}

/** The counting stage on a real infrastructure: what asks it, runs it and looks at what came of it. */
export interface CountingPipeline {
  readonly bus: Bus;
  readonly redis: Redis;
  readonly codec: Codec;
  readonly sender: Sender;
  readonly ask: (...values: readonly Ask[]) => Promise<void>;
  /** Asks for a count of these keys over and over, whatever happens meanwhile. */
  readonly askOverAndOver: (keys: readonly string[]) => Load;
  /** Starts one copy, with connections of its own, as a process has them. */
  readonly run: (options?: {
    readonly runtime?: Partial<RuntimeSettings>;
    readonly perform?: (request: CallRequest) => Promise<CallAnswer>;
  }) => Promise<RunningStage>;
  /** What was written to a topic since this pipeline was made, without the repeats that its readers drop. */
  readonly firsts: <V>(topic: Topic<V>) => Promise<readonly Found<V>[]>;
  /** The stored count of a key. */
  readonly count: (key: string) => Promise<number | undefined>;
  /** For each key: how often it was asked for, its stored count, and the counts that its readers see, in order. */
  readonly tally: (keys: readonly string[]) => Promise<readonly Tally[]>;
  readonly close: () => Promise<void>;
}

/** Asks that go on until they are ended. */
export interface Load {
  /** How often each key was asked for, as far as the log has it. */
  readonly times: () => number;
  readonly end: () => Promise<void>;
}

/** What became of one key. */
export interface Tally {
  readonly key: string;
  readonly asked: number;
  readonly stored: number | undefined;
  readonly told: readonly number[];
}

/** What must have become of keys that were asked for so often. */
export const exactly = (tallies: readonly Tally[]): readonly Tally[] =>
  tallies.map(({ key, asked }) => ({
    key,
    asked,
    stored: asked,
    told: Array.from({ length: asked }, (_, index) => index + 1),
  }));

/** Creates the topics and registers the schemas of the counting stage, and connects to all of it. */
export async function countingPipeline(addresses: Addresses): Promise<CountingPipeline> {
  const kafka = { brokers: addresses.kafkaBrokers.split(','), clientId: 'counting', tls: false };
  const registry = createSchemaRegistry({ url: addresses.schemaRegistryUrl });
  const bus = await createKafkaBus(kafka, silentLog);
  const redis = new Redis(addresses.redisUrl);
  // While a test has killed it, it is not there; who asks is told.
  redis.on('error', () => undefined);
  for (const topic of countingTopics) await registry.register(subjectOf(topic), jsonSchemaText(topic));
  await bus.createTopics(
    countingTopics.map((topic) =>
      topicShapeOf(topic, { partitions: ['asks', 'counted'].includes(topic.name) ? partitions : 12, replicas: 1 }),
    ),
  );
  // What other files asked for lies before it, on an infrastructure that they share.
  const begins = new Map<string, readonly bigint[]>();
  for (const { name } of countingTopics) {
    begins.set(
      name,
      ((await bus.offsets(name)) ?? []).map(({ end }) => end),
    );
  }
  const codec = await createCodec({ registry, writes: countingTopics });
  const senderOver = (over: Bus): Sender =>
    createSender({
      bus: over,
      clock: systemClock,
      limits: { maxRequestBytes: () => 900_000, retryMs: 500, inFlight: 1 },
    });
  const sender = senderOver(bus);
  const closing: (() => Promise<unknown>)[] = [() => redis.quit(), () => bus.close()];

  const firsts = async <V>(topic: Topic<V>): Promise<readonly Found<V>[]> => {
    const seen = new Set<string>();
    const found: Found<V>[] = [];
    for (const [partition, { end }] of ((await bus.offsets(topic.name)) ?? []).entries()) {
      const offset = begins.get(topic.name)?.[partition] ?? 0n;
      const records = await bus.read({ topic: topic.name, partition, offset, limit: Number(end - offset) });
      for (const record of records) {
        const from = parseHeader(record.header)?.from;
        const origin = from && `${from.topic}/${from.partition}/${from.offset}/${from.effect}`;
        if (origin !== undefined && seen.has(origin)) continue;
        if (origin !== undefined) seen.add(origin);
        const decoded = await codec.decode(topic, record.value);
        if (decoded.type === 'value') found.push({ value: decoded.value, record });
      }
    }
    return found;
  };
  const count = async (key: string): Promise<number | undefined> => {
    const json = await redis.get(`sb:1:{counting:${partitionOfKey(key)}}:counts:${key}`);
    return json === null ? undefined : StoredCount.parse(JSON.parse(json)).v.count;
  };

  const ask = (...values: readonly Ask[]): Promise<void> =>
    sender.send(
      values.map((value) => ({
        topic: 'asks',
        partition: partitionOfKey(value.key),
        key: Buffer.from(value.key),
        value: codec.encode(asks, value),
      })),
    );

  return {
    bus,
    redis,
    codec,
    sender,
    firsts,
    count,
    ask,
    askOverAndOver(keys) {
      const ended = new AbortController();
      let times = 0;
      const asking = (async () => {
        while (!ended.signal.aborted) {
          await ask(...keys.map((key): Ask => ({ type: 'count', key, emit: 1 })));
          times++;
          await systemClock.sleep(betweenAsksMs, ended.signal);
        }
      })();
      return {
        times: () => times,
        async end() {
          ended.abort();
          await asking;
        },
      };
    },
    async run({ runtime = {}, perform = performCall } = {}) {
      const own = await createKafkaBus(kafka, silentLog);
      const store = await createRedisStore({ url: addresses.redisUrl }, silentLog);
      const ownRegistry = createSchemaRegistry({ url: addresses.schemaRegistryUrl });
      const ownSender = senderOver(own);
      const running = await runStage({
        stage: counting,
        settings: {},
        bus: own,
        store,
        codec: await createCodec({ registry: ownRegistry, writes: countingTopics }),
        sender: ownSender,
        clock: systemClock,
        runtime: runtimeWith(runtime),
        perform,
        log: silentLog,
        observer: { folded: () => undefined, batch: () => undefined, reopened: () => undefined },
      });
      // It is told by the tests that the stage has ended: nothing comes any more.
      running.ended.catch(() => undefined);
      let stopping: Promise<void> | undefined;
      const stop = async (): Promise<void> => {
        await running.stop();
        ownSender.stop();
        await own.close();
        await store.close();
      };
      const stopOnce = (): Promise<void> => {
        stopping ??= stop();
        return stopping;
      };
      closing.unshift(stopOnce);
      return { ...running, stop: stopOnce };
    },
    async tally(keys) {
      const [asked, told] = [await firsts(asks), await firsts(counted)];
      return Promise.all(
        keys.map(async (key) => ({
          key,
          asked: asked.filter(({ value }) => value.key === key && value.type === 'count').length,
          stored: await count(key),
          told: told.flatMap(({ value }) => (value.key === key ? [value.count] : [])),
        })),
      );
    },
    async close() {
      for (const close of closing) await close();
    },
  };
}
