import { randomUUID } from 'node:crypto';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { systemClock } from '../../shared/runtime/clock.ts';
import { createKafkaBus } from '../../shared/runtime/kafka.ts';
import { silentLog } from '../../shared/runtime/log.ts';
import { createRedisStore } from '../../shared/runtime/redis.ts';
import { createSender } from '../../shared/runtime/sender.ts';
import { recordingOwner } from '../../shared/testing/recording-owner.ts';
import { type Infrastructure, startInfrastructure } from '../harness/infrastructure.ts';

const patience = { timeout: 60_000, interval: 50 };
const unavailable = { name: 'BusError', code: 'infrastructure-unavailable' };
let own: Infrastructure;

beforeAll(async () => {
  const { KAFKA_BROKERS: _, REDIS_URL: __, SCHEMA_REGISTRY_URL: ___, ...environment } = process.env;
  own = await startInfrastructure({
    dir: await mkdtemp(join(tmpdir(), 'signalbox-outage-')),
    keepData: false,
    need: ['kafka', 'redis'],
    environment,
    report: () => undefined,
  });
});
afterAll(() => own.stop());

test('a broker that dies and comes back is survived by sends, memberships, tails and reads', async () => {
  const settings = { brokers: own.kafkaBrokers.split(','), clientId: 'outage', tls: false };
  const bus = await createKafkaBus(settings, silentLog);
  const topic = `outage-${randomUUID()}`;
  await bus.createTopics([{ name: topic, partitions: 2, replicas: 1, config: {} }]);
  const sender = createSender({
    bus,
    clock: systemClock,
    limits: { maxRequestBytes: () => 500_000, retryMs: 100, inFlight: 1 },
  });
  const send = (text: string) =>
    sender.send([0, 1].map((partition) => ({ topic, partition, key: null, value: Buffer.from(text) })));
  const owner = recordingOwner();
  const tailed: string[] = [];
  const membership = await bus.join(`outage-${randomUUID()}`, topic, owner);
  const tail = await bus.tail(topic, (_, { value }) => tailed.push(String(value)));
  await send('before');
  await vi.waitFor(() => expect([owner.texts(0), owner.texts(1)]).toEqual([['before'], ['before']]), patience);

  await own.parts.kafka?.kill();
  await expect(bus.produce([{ topic, partition: 0, key: null, value: Buffer.from('lost') }])).rejects.toMatchObject(
    unavailable,
  );
  await expect(bus.offsets(topic)).rejects.toMatchObject(unavailable);
  await expect(bus.read({ topic, partition: 0, offset: 0n, limit: 1 })).rejects.toMatchObject(unavailable);
  await expect(membership.commit(new Map([[0, 1n]]))).rejects.toMatchObject(unavailable);
  const sending = send('during');

  await own.parts.kafka?.restart();
  await sending;
  await send('after');
  // A send whose answer was lost may have landed twice; nothing is missing, and nothing overtakes.
  const first = (texts: readonly string[]) => [...new Set(texts)].filter((text) => text !== 'lost');
  await vi.waitFor(() => {
    for (const texts of [owner.texts(0), owner.texts(1), tailed]) {
      expect(first(texts)).toEqual(['before', 'during', 'after']);
    }
  }, patience);
  await vi.waitFor(() => expect(membership.health()).toMatchObject({ joined: true, partitions: [0, 1] }), patience);
  await vi.waitFor(() => membership.commit(new Map([[0, 1n]])), patience);
  expect(owner.overlapped()).toBe(false);
  expect((await bus.read({ topic, partition: 0, offset: 0n, limit: 1 })).map(({ value }) => String(value))).toEqual([
    'before',
  ]);
  await tail.close();
  await bus.close();
});

test('a Redis that dies is reported at once, and found again when it is back', async () => {
  const store = await createRedisStore({ url: own.redisUrl }, silentLog);
  const slot = { stage: 'outage', partition: 0, generation: 1 };
  const changes = { fence: 1n, at: 1, watermarks: new Map(), rows: [{ row: 'a:b', json: '1' }], timers: [] };
  expect(await store.save(slot, -1n, changes)).toEqual({ type: 'saved' });

  await own.parts.redis?.kill();
  const asked = performance.now();
  await vi.waitFor(() => expect(store.fence(slot)).rejects.toMatchObject(unavailable), patience);
  await expect(store.save(slot, 1n, { ...changes, fence: 2n })).rejects.toMatchObject(unavailable);
  expect(performance.now() - asked).toBeLessThan(2_000);

  await own.parts.redis?.restart();
  // The scripts are not remembered by the new process, and are sent to it again.
  await vi.waitFor(async () => expect(await store.load(slot, ['a:c'])).toEqual([undefined]), patience);
  const fence = (await store.fence(slot)) ?? -1n;
  expect(await store.save(slot, fence, { ...changes, fence: 3n })).toEqual({ type: 'saved' });
  expect(await store.fence(slot)).toBe(3n);
  await store.close();
});

test('a Redis that may evict is refused', async () => {
  const store = await createRedisStore({ url: own.redisUrl }, silentLog);
  expect(await store.check()).toBeUndefined();
  const redis = new Redis(own.redisUrl);
  await redis.config('SET', 'maxmemory-policy', 'allkeys-lru');
  await expect(store.check()).rejects.toMatchObject({ code: 'redis-may-evict', details: { policy: 'allkeys-lru' } });
  await redis.config('SET', 'maxmemory-policy', 'noeviction');
  await redis.quit();
  await store.close();
});
