import { randomUUID } from 'node:crypto';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { deadLetters } from '../../schemas/dead-letter.ts';
import type { Topic } from '../../schemas/define.ts';
import { jsonSchemaOf } from '../../shared/json-schema.ts';
import { createSchemaRegistry } from '../../shared/runtime/registry.ts';
import type { RunningStage } from '../../shared/runtime/run-stage.ts';
import { type Ask, asks, counted } from '../../shared/testing/counting-stage.ts';
import { type Infrastructure, startInfrastructure } from '../harness/infrastructure.ts';
import { type CountingPipeline, countingPipeline, exactly, partitionOfKey } from './counting-pipeline.ts';

const patience = { timeout: 60_000, interval: 50 };
const recoveryMs = 20_000;
const count = (key: string): Ask => ({ type: 'count', key, emit: 1 });

let own: Infrastructure;
let pipeline: CountingPipeline;
let stage: RunningStage;
let ended: unknown;

beforeAll(async () => {
  const { KAFKA_BROKERS: _, REDIS_URL: __, SCHEMA_REGISTRY_URL: ___, ...environment } = process.env;
  const dir = await mkdtemp(join(tmpdir(), 'signalbox-stage-'));
  own = await startInfrastructure({ dir, keepData: false, environment, report: () => undefined });
  pipeline = await countingPipeline(own);
  stage = await pipeline.run();
  stage.ended.catch((error: unknown) => {
    ended = error;
  });
});
afterAll(async () => {
  await pipeline.close();
  await own.stop();
});
afterEach(async () => {
  // It rejected nothing, and went on by itself.
  expect([ended, (await pipeline.firsts(deadLetters)).map(({ value }) => value)]).toEqual([undefined, []]);
});

/** Asks for keys that no other test has, over and over, whatever happens meanwhile. */
function askOverAndOver(name: string) {
  const run = randomUUID().slice(0, 8);
  const keys = Array.from({ length: 8 }, (_, index) => `${name}-${run}-${index}`);
  return { keys, ...pipeline.askOverAndOver(keys) };
}

/** How often readers have been told of a key. */
const told = async (key: string | undefined): Promise<number> =>
  (await pipeline.firsts(counted)).filter(({ value }) => value.key === key).length;

/** Waits until what is asked from now on is counted, and answers how long that took. */
async function recovered(): Promise<number> {
  const from = performance.now();
  const probes = Array.from({ length: 12 }, () => `probe-${randomUUID()}`);
  await pipeline.ask(...probes.map(count));
  await vi.waitFor(async () => {
    expect(await Promise.all(probes.map(pipeline.count))).toEqual(probes.map(() => 1));
  }, patience);
  return Math.round(performance.now() - from);
}

/** Waits until all that was asked is counted; nothing is lost then, and nothing doubled. */
const settled = (keys: readonly string[]) =>
  vi.waitFor(async () => {
    const tallies = await pipeline.tally(keys);
    expect(tallies).toEqual(exactly(tallies));
    return tallies;
  }, patience);

test('Kafka is killed and comes back', async ({ annotate }) => {
  const load = askOverAndOver('kafka');
  await vi.waitFor(async () => expect(await told(load.keys[0])).toBeGreaterThan(5), patience);
  await own.parts.kafka?.kill();
  const before = load.times();
  await own.parts.kafka?.restart();
  const ms = await recovered();
  await annotate(`Kafka: counted again ${ms} ms after it answered`);
  expect(ms).toBeLessThan(recoveryMs);
  await vi.waitFor(() => expect(load.times()).toBeGreaterThan(before + 5), patience);
  await load.end();
  const tallies = await settled(load.keys);
  expect(tallies.every(({ asked }) => asked >= load.times())).toBe(true);
});

test('Redis is killed and comes back', async ({ annotate }) => {
  const load = askOverAndOver('redis');
  await vi.waitFor(async () => expect(await told(load.keys[0])).toBeGreaterThan(5), patience);
  await own.parts.redis?.kill();
  const before = load.times();
  await vi.waitFor(() => expect(load.times()).toBeGreaterThan(before + 20), patience);
  await own.parts.redis?.restart();
  const ms = await recovered();
  await annotate(`Redis: counted again ${ms} ms after it answered`);
  expect(ms).toBeLessThan(recoveryMs);
  await load.end();
  const tallies = await settled(load.keys);
  expect(tallies.every(({ asked }) => asked === load.times())).toBe(true);
});

test('Redis forgets everything in the middle of work, and again while nothing is asked', async ({ annotate }) => {
  const load = askOverAndOver('flush');
  await vi.waitFor(async () => expect(await told(load.keys[0])).toBeGreaterThan(5), patience);
  await pipeline.redis.flushall();
  const ms = await recovered();
  await load.end();
  await settled(load.keys);

  await pipeline.redis.flushall();
  const from = performance.now();
  const tallies = await settled(load.keys);
  const idleMs = Math.round(performance.now() - from);
  await annotate(`Redis emptied: counted again after ${ms} ms under load, state whole again after ${idleMs} ms idle`);
  expect([ms < recoveryMs, idleMs < recoveryMs]).toEqual([true, true]);
  expect(tallies.every(({ asked }) => asked === load.times())).toBe(true);
});

test('the registry is away when a record names a schema that was never seen: its partition waits, the others go on', async ({
  annotate,
}) => {
  const run = randomUUID().slice(0, 8);
  const keys = Array.from({ length: 40 }, (_, index) => `registry-${run}-${index}`);
  const [waiting = ''] = keys;
  const others = keys.filter((key) => partitionOfKey(key) !== partitionOfKey(waiting));
  const behind = keys.filter((key) => !others.includes(key)).slice(1);
  const registry = createSchemaRegistry({ url: own.schemaRegistryUrl });
  const newer = { ...jsonSchemaOf(asks as Topic), title: `asks ${run}` };
  const id = await registry.register(`asks-${run}-value`, JSON.stringify(newer));
  const value = Buffer.from(pipeline.codec.encode(asks, count(waiting)));
  value.writeInt32BE(id, 1);

  await own.parts.registry?.kill();
  const record = { topic: 'asks', partition: partitionOfKey(waiting), key: Buffer.from(waiting), value };
  await pipeline.sender.send([record]);
  await pipeline.ask(...behind.map(count), ...others.map(count));
  await vi.waitFor(async () => {
    expect(await Promise.all(others.map(pipeline.count))).toEqual(others.map(() => 1));
  }, patience);
  const held = await Promise.all([waiting, ...behind].map(pipeline.count));
  expect(new Set(held)).toEqual(new Set([undefined]));
  expect(stage.health().stuckSince).toBeDefined();

  await own.parts.registry?.restart();
  const ms = await recovered();
  await annotate(`Registry: counted again ${ms} ms after it answered`);
  expect(ms).toBeLessThan(recoveryMs);
  const tallies = await settled(keys);
  expect(tallies.map(({ asked }) => asked)).toEqual(keys.map(() => 1));
});
