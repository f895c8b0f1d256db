import { randomUUID } from 'node:crypto';
import { Kafka, logLevel } from 'kafkajs';
import { afterEach, describe, expect, inject, test, vi } from 'vitest';
import type { Bus, OutgoingRecord, RecordBatch } from '../../shared/runtime/bus.ts';
import type { KafkaLimits } from '../../shared/runtime/kafka/client.ts';
import { createKafkaBus } from '../../shared/runtime/kafka.ts';
import { silentLog } from '../../shared/runtime/log.ts';
import { recordingOwner } from '../../shared/testing/recording-owner.ts';

const brokers = inject('infrastructure').kafkaBrokers.split(',');
const slow = { timeout: 60_000 };
const patience = { timeout: 30_000, interval: 20 };

/** A client from outside, which does what the bus has no need of. */
const outside = new Kafka({ brokers, clientId: 'outside', logLevel: logLevel.NOTHING });

const open: { close: () => Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((each) => each.close()));
});

async function connect(limits: Partial<KafkaLimits> = {}): Promise<Bus> {
  const bus = await createKafkaBus({ brokers, clientId: 'test', tls: false }, silentLog, limits);
  open.push(bus);
  return bus;
}

async function topicOn(bus: Bus, partitions: number, config: Readonly<Record<string, string>> = {}): Promise<string> {
  const name = `kafka-${randomUUID()}`;
  await bus.createTopics([{ name, partitions, replicas: 1, config }]);
  return name;
}

const record = (topic: string, partition: number, text: string, key = 'k'): OutgoingRecord => ({
  topic,
  partition,
  key: Buffer.from(key),
  value: Buffer.from(text),
});

const groupName = (): string => `kafka-${randomUUID()}`;

async function transaction(topic: string, texts: readonly string[], end: 'commit' | 'abort'): Promise<void> {
  const producer = outside.producer({
    idempotent: true,
    maxInFlightRequests: 1,
    transactionalId: randomUUID(),
    createPartitioner: () => () => 0,
  });
  await producer.connect();
  const running = await producer.transaction();
  await running.send({ topic, messages: texts.map((value) => ({ key: 'k', value })) });
  await running[end]();
  await producer.disconnect();
}

async function deleteBefore(topic: string, offset: string): Promise<void> {
  const admin = outside.admin();
  await admin.connect();
  // The client deletes only in topics that it knows already.
  await admin.fetchTopicOffsets(topic);
  await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset }] });
  await admin.disconnect();
}

describe('A membership on Kafka', () => {
  test('hands a record over at once, however long an empty fetch may wait', slow, async () => {
    const bus = await connect({ fetchWaitMs: 4_000 });
    const topic = await topicOn(bus, 2);
    const owner = recordingOwner();
    await bus.join(groupName(), topic, owner);
    await bus.produce([record(topic, 0, 'first')]);
    await vi.waitFor(() => expect(owner.texts(0)).toEqual(['first']), patience);
    const sent = performance.now();
    await bus.produce([record(topic, 1, 'next')]);
    await vi.waitFor(() => expect(owner.texts(1)).toEqual(['next']), { timeout: 30_000, interval: 2 });
    expect(performance.now() - sent).toBeLessThan(1_500);
  });

  test('does not make partitions wait for a slow one', slow, async () => {
    const bus = await connect();
    const topic = await topicOn(bus, 3);
    const gate = Promise.withResolvers<void>();
    const owner = recordingOwner({ whileBatch: (partition) => (partition === 0 ? gate.promise : Promise.resolve()) });
    await bus.join(groupName(), topic, owner);
    await bus.produce([record(topic, 0, 'slow')]);
    await vi.waitFor(() => expect(owner.texts(0)).toEqual(['slow']), patience);
    for (const text of ['a', 'b']) {
      await bus.produce([record(topic, 1, text), record(topic, 2, text)]);
      await vi.waitFor(
        () => expect([owner.texts(1), owner.texts(2)].map((texts) => texts.at(-1))).toEqual([text, text]),
        patience,
      );
    }
    gate.resolve();
    await bus.produce([record(topic, 0, 'again')]);
    await vi.waitFor(() => expect(owner.texts(0)).toEqual(['slow', 'again']), patience);
  });

  test('stays in the group while a call runs for longer than a session', slow, async () => {
    // Brokers allow no shorter session.
    const bus = await connect({ sessionTimeoutMs: 6_000, heartbeatMs: 500 });
    const topic = await topicOn(bus, 1);
    const gate = Promise.withResolvers<void>();
    const owner = recordingOwner({ whileBatch: () => gate.promise });
    const membership = await bus.join(groupName(), topic, owner);
    await bus.produce([record(topic, 0, 'a')]);
    await vi.waitFor(() => expect(owner.texts(0)).toEqual(['a']), patience);
    const since = Date.now();
    await vi.waitFor(() => expect(membership.health().heartbeatAt).toBeGreaterThan(since + 9_000), patience);
    gate.resolve();
    await bus.produce([record(topic, 0, 'b')]);
    await vi.waitFor(() => expect(owner.texts(0)).toEqual(['a', 'b']), patience);
    expect(owner.timesAssigned(0)).toBe(1);
  });

  test('passes over what transactions leave behind', slow, async () => {
    const bus = await connect();
    const topic = await topicOn(bus, 1);
    await transaction(topic, ['a', 'b'], 'commit');
    await transaction(topic, ['never'], 'abort');
    const owner = recordingOwner();
    await bus.join(groupName(), topic, owner);
    // a, b and the marker of their end; the aborted record and its marker.
    const nextOf = () => owner.calls.flatMap((call) => (call.type === 'batch' ? [call.batch.next] : [])).at(-1);
    await vi.waitFor(() => expect(nextOf()).toBe(5n), patience);
    await transaction(topic, ['c'], 'commit');
    await vi.waitFor(() => expect(nextOf()).toBe(7n), patience);
    expect(owner.texts(0)).toEqual(['a', 'b', 'c']);
    expect((await bus.read({ topic, partition: 0, offset: 0n, limit: 10 })).map(({ value }) => String(value))).toEqual([
      'a',
      'b',
      'c',
    ]);
  });

  test('ends when the offset to read is no longer kept', slow, async () => {
    const bus = await connect();
    const topic = await topicOn(bus, 1);
    await bus.produce(['a', 'b', 'c'].map((text) => record(topic, 0, text)));
    await deleteBefore(topic, '2');
    const group = groupName();
    const membership = await bus.join(group, topic, recordingOwner({ openAt: () => 0n }));
    await expect(membership.ended).rejects.toMatchObject({ name: 'BusError', code: 'offset-gap' });
    expect(await bus.committed(group, topic)).toEqual([-1n]);

    const owner = recordingOwner();
    await bus.join(groupName(), topic, owner);
    await vi.waitFor(() => expect(owner.texts(0)).toEqual(['c']), patience);
    expect(owner.firstAssigned(0)).toEqual({ type: 'assigned', partition: 0, committed: 0n, start: 2n });
  });

  test('hands a partition over only after the running call has finished', slow, async () => {
    const [bus, other] = [await connect(), await connect()];
    const topic = await topicOn(bus, 2);
    const group = groupName();
    const running = new Map<number, number>();
    let together = 0;
    const owner = () =>
      recordingOwner({
        openAt: (_, { committed }) => committed,
        async whileBatch(partition) {
          running.set(partition, (running.get(partition) ?? 0) + 1);
          together = Math.max(together, ...running.values());
          await new Promise((resolve) => setTimeout(resolve, 700));
          running.set(partition, (running.get(partition) ?? 0) - 1);
        },
      });
    const [first, second] = [owner(), owner()];
    await bus.join(group, topic, first);
    await vi.waitFor(() => expect(first.held()).toEqual([0, 1]), patience);
    let going = true;
    const writing = (async () => {
      while (going) await bus.produce([record(topic, 0, 'x'), record(topic, 1, 'x')]);
    })();
    const membership = await other.join(group, topic, second);
    await vi.waitFor(() => expect([first.held().length, second.held().length]).toEqual([1, 1]), patience);
    await vi.waitFor(
      () => expect(second.calls.filter(({ type }) => type === 'batch').length).toBeGreaterThan(1),
      patience,
    );
    await membership.leave();
    await vi.waitFor(() => expect(first.held()).toEqual([0, 1]), patience);
    going = false;
    await writing;
    expect([together, first.overlapped(), second.overlapped()]).toEqual([1, false, false]);
  });

  test('gives what lies in the log in one piece, in order, while members come and go', slow, async () => {
    const [bus, other] = [await connect(), await connect()];
    const topic = await topicOn(bus, 4);
    const group = groupName();
    const seen = new Map<number, bigint>();
    const gaps: string[] = [];
    const owner = () => ({
      assigned: async (partition: number) => seen.get(partition) ?? 0n,
      async batch(partition: number, batch: RecordBatch) {
        if (batch.records[0]?.offset !== (seen.get(partition) ?? 0n))
          gaps.push(`${partition}/${batch.records[0]?.offset}`);
        seen.set(partition, batch.next);
        return batch.next;
      },
      revoked: () => undefined,
    });
    await bus.join(group, topic, owner());
    for (let turn = 0; turn < 3; turn++) {
      const membership = await other.join(group, topic, owner());
      await vi.waitFor(async () => {
        await bus.produce(
          [0, 1, 2, 3].flatMap((partition) => [record(topic, partition, 'x'), record(topic, partition, 'y')]),
        );
        expect(membership.health().partitions).toHaveLength(2);
      }, patience);
      await membership.leave();
    }
    const ends = (await bus.offsets(topic))?.map(({ end }) => end) ?? [];
    await vi.waitFor(() => expect(ends.map((_, partition) => seen.get(partition))).toEqual(ends), patience);
    expect(gaps).toEqual([]);
  });

  test('of a topic that does not exist is refused', slow, async () => {
    const bus = await connect();
    await expect(bus.join(groupName(), 'kafka-none', recordingOwner())).rejects.toMatchObject({
      code: 'topic-missing',
    });
    await expect(bus.tail('kafka-none', () => undefined)).rejects.toMatchObject({ code: 'topic-missing' });
  });
});

describe('The log on Kafka', () => {
  test('refuses a record that is larger than its topic takes, and takes the next one', slow, async () => {
    const bus = await connect();
    const topic = await topicOn(bus, 1, { 'max.message.bytes': '2000' });
    await expect(bus.produce([record(topic, 0, 'x'.repeat(5_000))])).rejects.toMatchObject({
      name: 'BusError',
      code: 'record-too-large',
    });
    await bus.produce([record(topic, 0, 'small')]);
    expect((await bus.offsets(topic))?.[0]?.end).toBe(1n);
  });

  test('a tail of a compacted topic is ready although its newest offsets hold only markers', slow, async () => {
    const bus = await connect();
    const topic = await topicOn(bus, 1, { 'cleanup.policy': 'compact' });
    await transaction(topic, ['a'], 'abort');
    const tail = await bus.tail(topic, () => undefined);
    expect(await tail.ready).toBeUndefined();
  });

  test('brokers that do not answer are told apart from everything else', slow, async () => {
    const limits = { connectTimeoutMs: 500 };
    const settings = { brokers: ['127.0.0.1:1'], clientId: 'test', tls: false };
    await expect(createKafkaBus(settings, silentLog, limits)).rejects.toMatchObject({
      name: 'BusError',
      code: 'infrastructure-unavailable',
    });
  });
});
