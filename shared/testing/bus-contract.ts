import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { Bus, IncomingRecord, OutgoingRecord, TopicSpec } from '../runtime/bus.ts';
import { type RecordingOwner, recordingOwner } from './recording-owner.ts';

/** What the suite needs of a bus: connections to one log, as separate processes have them. */
export interface BusUnderTest {
  /** A new connection to the same log each time. The suite closes it. */
  readonly connect: () => Promise<Bus>;
  /** The broker's clock, epoch milliseconds, give or take a second. */
  readonly now: () => number;
}

const slow = { timeout: 60_000 };
const patience = { timeout: 30_000, interval: 25 };

/** Holds a bus to the behaviour that the shell relies on. */
export function busContract(name: string, { connect, now }: BusUnderTest): void {
  const open: Bus[] = [];
  const connected = async (): Promise<Bus> => {
    const bus = await connect();
    open.push(bus);
    return bus;
  };
  const topicOn = async (bus: Bus, partitions: number): Promise<string> => {
    const topic = `contract-${randomUUID()}`;
    await bus.createTopics([specOf(topic, partitions)]);
    await vi.waitFor(async () => expect(await bus.offsets(topic)).toHaveLength(partitions), patience);
    return topic;
  };
  const groupName = (): string => `contract-${randomUUID()}`;
  const everything = async (bus: Bus, topic: string, partition = 0): Promise<readonly IncomingRecord[]> =>
    bus.read({ topic, partition, offset: 0n, limit: 10_000 });

  afterEach(async () => {
    await Promise.all(open.splice(0).map((bus) => bus.close()));
  });

  describe(`${name}: an inspection`, () => {
    test('tells of topics that exist, as they were made, and of those who read them', slow, async () => {
      const bus = await connected();
      const topic = `contract-${randomUUID()}`;
      const spec: TopicSpec = {
        name: topic,
        partitions: 3,
        replicas: 1,
        config: { 'message.timestamp.type': 'LogAppendTime', 'retention.ms': '86400000', 'cleanup.policy': 'delete' },
      };
      await bus.createTopics([spec]);
      const [group, nobody] = [groupName(), groupName()];
      const owner = recordingOwner();
      const membership = await bus.join(group, topic, owner);
      await vi.waitFor(() => expect(owner.held()).toEqual([0, 1, 2]), patience);
      const wanted = { topics: [topic, `absent-${topic}`], groups: [group, nobody] };
      const { brokers, requests, topics, groupMembers } = await bus.inspect(wanted);
      expect(brokers).toBeGreaterThanOrEqual(1);
      for (const { made, taken } of requests)
        expect(Math.min(made.max, taken?.max ?? -1)).toBeGreaterThanOrEqual(taken?.min ?? 0);
      expect([...topics.keys()]).toEqual([topic]);
      expect(topics.get(topic)).toEqual({
        partitions: 3,
        replicas: 1,
        inSync: 1,
        leaderless: 0,
        config: expect.objectContaining(spec.config),
      });
      expect([groupMembers.get(group), groupMembers.get(nobody)]).toEqual([1, 0]);
      await membership.leave();
      await vi.waitFor(async () => expect((await bus.inspect(wanted)).groupMembers.get(group)).toBe(0), patience);
    });
  });

  describe(`${name}: the log`, () => {
    test('records of a partition keep their order, within a request and across requests', slow, async () => {
      const bus = await connected();
      const topic = await topicOn(bus, 2);
      const texts = Array.from({ length: 300 }, (_, index) => `v${index}`);
      for (const part of [texts.slice(0, 1), texts.slice(1, 120), texts.slice(120)]) {
        await bus.produce(part.flatMap((text) => [textRecord(topic, 0, text), textRecord(topic, 1, `other ${text}`)]));
      }
      const [first, second] = [await everything(bus, topic, 0), await everything(bus, topic, 1)];
      expect(first.map(textOf)).toEqual(texts);
      expect(second.map(textOf)).toEqual(texts.map((text) => `other ${text}`));
      expect(first.map((record) => record.offset)).toEqual(texts.map((_, index) => BigInt(index)));
    });

    test('one request reaches several topics', slow, async () => {
      const bus = await connected();
      const [left, right] = [await topicOn(bus, 1), await topicOn(bus, 1)];
      await bus.produce([textRecord(left, 0, 'a'), textRecord(right, 0, 'b'), textRecord(left, 0, 'c')]);
      expect((await everything(bus, left)).map(textOf)).toEqual(['a', 'c']);
      expect((await everything(bus, right)).map(textOf)).toEqual(['b']);
    });

    test('key, value, header and traceparent come back as they were sent, absent ones as absent', slow, async () => {
      const bus = await connected();
      const topic = await topicOn(bus, 1);
      const bytes = Buffer.from([0, 0, 0, 0, 7, 0xff, 0xc3, 0x28]);
      const key = Buffer.from('kanał|1', 'utf8');
      const header = '1 root%20id cause f=a%2F0%2F1%2F0';
      const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
      await bus.produce([
        { topic, partition: 0, key, value: bytes, header, traceparent },
        { topic, partition: 0, key, value: null, header },
        { topic, partition: 0, key: null, value: bytes, traceparent },
        { topic, partition: 0, key: null, value: null },
      ]);
      const read = await everything(bus, topic);
      expect(read.map(({ at: _, ...record }) => record)).toEqual([
        { offset: 0n, key, value: bytes, header, traceparent },
        { offset: 1n, key, value: null, header, traceparent: undefined },
        { offset: 2n, key: null, value: bytes, header: undefined, traceparent },
        { offset: 3n, key: null, value: null, header: undefined, traceparent: undefined },
      ]);
    });

    test(
      'a record is dated by the broker when it is appended, never earlier than the one before it',
      slow,
      async () => {
        const bus = await connected();
        const topic = await topicOn(bus, 1);
        const before = now();
        for (const text of ['a', 'b', 'c']) await bus.produce([textRecord(topic, 0, text)]);
        const dates = (await everything(bus, topic)).map((record) => record.at);
        expect(dates).toHaveLength(3);
        expect(dates).toEqual(dates.toSorted((a, b) => a - b));
        expect(dates.every((at) => at >= before - 1_000 && at <= now() + 1_000)).toBe(true);
      },
    );

    test('reading starts at the offset, stops at the limit and at the end', slow, async () => {
      const bus = await connected();
      const topic = await topicOn(bus, 1);
      await bus.produce(['a', 'b', 'c', 'd', 'e'].map((text) => textRecord(topic, 0, text)));
      const texts = async (offset: bigint, limit: number) =>
        (await bus.read({ topic, partition: 0, offset, limit })).map(textOf);
      expect(await texts(1n, 2)).toEqual(['b', 'c']);
      expect(await texts(3n, 100)).toEqual(['d', 'e']);
      expect(await texts(5n, 100)).toEqual([]);
    });

    test('reading at once gives some where there are some, in order, and no more than the limit', slow, async () => {
      const bus = await connected();
      const topic = await topicOn(bus, 1);
      const texts = Array.from({ length: 40 }, (_, index) => `${index} ${'long '.repeat(10_000)}`);
      for (const text of texts) await bus.produce([textRecord(topic, 0, text)]);
      const found: (string | null)[] = [];
      while (found.length < texts.length) {
        const from = { topic, partition: 0, offset: BigInt(found.length), limit: 30, atOnce: true } as const;
        const some = (await bus.read(from)).map(textOf);
        expect(some.length).toBeGreaterThan(0);
        expect(some.length).toBeLessThanOrEqual(30);
        found.push(...some);
      }
      expect(found).toEqual(texts);
    });

    test('the offset at an instant is that of the first record appended then or later', slow, async () => {
      const bus = await connected();
      const topic = await topicOn(bus, 1);
      expect(await bus.offsetAt(topic, 0, 0)).toBe(0n);
      await bus.produce([textRecord(topic, 0, 'a')]);
      await vi.waitFor(async () => {
        await bus.produce([textRecord(topic, 0, 'later')]);
        const dates = (await everything(bus, topic)).map((record) => record.at);
        expect(new Set(dates).size).toBeGreaterThan(1);
      }, patience);
      const records = await everything(bus, topic);
      for (const { at } of records) {
        expect(await bus.offsetAt(topic, 0, at)).toBe(records.find((record) => record.at >= at)?.offset);
      }
      expect(await bus.offsetAt(topic, 0, 0)).toBe(0n);
      expect(await bus.offsetAt(topic, 0, now() + 3_600_000)).toBe(BigInt(records.length));
    });

    test('offsets tell the bounds of each partition, and nothing of a topic that does not exist', slow, async () => {
      const bus = await connected();
      const topic = await topicOn(bus, 3);
      await bus.produce([textRecord(topic, 0, 'a'), textRecord(topic, 2, 'b'), textRecord(topic, 2, 'c')]);
      expect(await bus.offsets(topic)).toEqual([
        { start: 0n, end: 1n },
        { start: 0n, end: 0n },
        { start: 0n, end: 2n },
      ]);
      expect(await bus.offsets(`contract-${randomUUID()}`)).toBeUndefined();
    });

    test('creating a topic that exists leaves it as it is, and creates the others', slow, async () => {
      const bus = await connected();
      const topic = await topicOn(bus, 2);
      await bus.produce([textRecord(topic, 1, 'kept')]);
      const other = `contract-${randomUUID()}`;
      await bus.createTopics([specOf(topic, 2), specOf(other, 1)]);
      await bus.createTopics([specOf(topic, 5), specOf(other, 1)]);
      await vi.waitFor(async () => expect(await bus.offsets(other)).toHaveLength(1), patience);
      expect(await bus.offsets(topic)).toHaveLength(2);
      expect((await everything(bus, topic, 1)).map(textOf)).toEqual(['kept']);
    });
  });

  describe(`${name}: a membership`, () => {
    const join = async (bus: Bus, group: string, topic: string, owner: RecordingOwner) => {
      const membership = await bus.join(group, topic, owner);
      // Each test that expects an end looks at it itself.
      membership.ended.catch(() => undefined);
      return membership;
    };

    test(
      'a partition is assigned before its first batch; batches are consecutive and tell what follows',
      slow,
      async () => {
        const bus = await connected();
        const topic = await topicOn(bus, 1);
        const texts = Array.from({ length: 60 }, (_, index) => `v${index}`);
        await bus.produce(texts.slice(0, 30).map((text) => textRecord(topic, 0, text)));
        const owner = recordingOwner();
        const membership = await join(bus, groupName(), topic, owner);
        await vi.waitFor(() => expect(owner.texts(0)).toHaveLength(30), patience);
        await bus.produce(texts.slice(30).map((text) => textRecord(topic, 0, text)));
        await vi.waitFor(() => expect(owner.texts(0)).toHaveLength(60), patience);

        expect(owner.texts(0)).toEqual(texts);
        expect(owner.calls[0]).toEqual({ type: 'assigned', partition: 0, committed: 0n, start: 0n });
        const batches = owner.calls.flatMap((call) => (call.type === 'batch' ? [call.batch] : []));
        let expected = 0n;
        for (const { records, next, end } of batches) {
          expect(records.map((record) => record.offset)).toEqual(records.map((_, index) => expected + BigInt(index)));
          expected += BigInt(records.length);
          expect(next).toBe(expected);
          expect(end).toBeGreaterThanOrEqual(next);
        }
        expect(batches.at(-1)?.end).toBe(60n);
        expect(membership.health()).toMatchObject({ joined: true, partitions: [0] });
        expect(Math.abs(membership.health().heartbeatAt - now())).toBeLessThan(60_000);
      },
    );

    test('reading goes where `assigned` and `batch` answer', slow, async () => {
      const bus = await connected();
      const topic = await topicOn(bus, 1);
      await bus.produce(['a', 'b', 'c', 'd'].map((text) => textRecord(topic, 0, text)));
      let sought = false;
      const owner = recordingOwner({
        openAt: () => 2n,
        answer: (_, batch) => {
          if (sought || batch.next < 4n) return batch.next;
          sought = true;
          return 1n;
        },
      });
      await join(bus, groupName(), topic, owner);
      await vi.waitFor(() => expect(owner.texts(0)).toEqual(['c', 'd', 'b', 'c', 'd']), patience);
    });

    test('leaving takes the partitions away and ends the membership', slow, async () => {
      const bus = await connected();
      const topic = await topicOn(bus, 2);
      const owner = recordingOwner();
      const membership = await join(bus, groupName(), topic, owner);
      await vi.waitFor(() => expect(owner.held()).toEqual([0, 1]), patience);
      await membership.leave();
      await membership.ended;
      expect(owner.held()).toEqual([]);
      expect(membership.health()).toMatchObject({ joined: false, partitions: [] });
      await bus.produce([textRecord(topic, 0, 'unseen')]);
      expect(owner.texts(0)).toEqual([]);
    });

    test('leaving waits for a running call', slow, async () => {
      const bus = await connected();
      const topic = await topicOn(bus, 1);
      await bus.produce([textRecord(topic, 0, 'a')]);
      const gate = Promise.withResolvers<void>();
      const owner = recordingOwner({ whileBatch: () => gate.promise });
      const membership = await join(bus, groupName(), topic, owner);
      await vi.waitFor(() => expect(owner.running()).toBe(1), patience);
      let left = false;
      const leaving = membership.leave().then(() => {
        left = true;
      });
      await bus.offsets(topic);
      expect(left).toBe(false);
      gate.resolve();
      await leaving;
      expect(owner.running()).toBe(0);
    });

    test('the next owner is told what was committed', slow, async () => {
      const bus = await connected();
      const topic = await topicOn(bus, 2);
      const group = groupName();
      expect(await bus.committed(group, topic)).toEqual([-1n, -1n]);
      await bus.produce(['a', 'b', 'c'].map((text) => textRecord(topic, 0, text)));
      const owner = recordingOwner();
      const membership = await join(bus, group, topic, owner);
      await vi.waitFor(() => expect(owner.texts(0)).toEqual(['a', 'b', 'c']), patience);
      await membership.commit(new Map([[0, 2n]]));
      expect(await bus.committed(group, topic)).toEqual([2n, -1n]);
      await membership.leave();

      const next = recordingOwner({ openAt: (_, { committed }) => committed });
      await join(await connected(), group, topic, next);
      await vi.waitFor(() => expect(next.texts(0)).toEqual(['c']), patience);
      expect(next.firstAssigned(0)).toEqual({ type: 'assigned', partition: 0, committed: 2n, start: 0n });
      await vi.waitFor(() => {
        expect(next.firstAssigned(1)).toEqual({ type: 'assigned', partition: 1, committed: 0n, start: 0n });
      }, patience);
    });

    test('a commit may go back', slow, async () => {
      const bus = await connected();
      const topic = await topicOn(bus, 1);
      const group = groupName();
      await bus.produce(['a', 'b'].map((text) => textRecord(topic, 0, text)));
      const owner = recordingOwner();
      const membership = await join(bus, group, topic, owner);
      await vi.waitFor(() => expect(owner.texts(0)).toEqual(['a', 'b']), patience);
      await membership.commit(new Map([[0, 2n]]));
      await membership.commit(new Map([[0, 1n]]));
      expect(await bus.committed(group, topic)).toEqual([1n]);
    });

    test('groups have places of their own', slow, async () => {
      const bus = await connected();
      const topic = await topicOn(bus, 1);
      await bus.produce([textRecord(topic, 0, 'a')]);
      const [left, right] = [recordingOwner(), recordingOwner()];
      const [leftGroup, rightGroup] = [groupName(), groupName()];
      const membership = await join(bus, leftGroup, topic, left);
      await join(await connected(), rightGroup, topic, right);
      await vi.waitFor(() => expect([left.texts(0), right.texts(0)]).toEqual([['a'], ['a']]), patience);
      await membership.commit(new Map([[0, 1n]]));
      expect(await bus.committed(leftGroup, topic)).toEqual([1n]);
      expect(await bus.committed(rightGroup, topic)).toEqual([-1n]);
    });

    test(
      'two members share the partitions; the one that stays takes over quickly when the other leaves',
      slow,
      async () => {
        const bus = await connected();
        const topic = await topicOn(bus, 4);
        const group = groupName();
        const [first, second] = [recordingOwner(), recordingOwner()];
        await join(bus, group, topic, first);
        await vi.waitFor(() => expect(first.held()).toEqual([0, 1, 2, 3]), patience);
        const other = await join(await connected(), group, topic, second);
        await vi.waitFor(() => {
          expect([...first.held(), ...second.held()].toSorted()).toEqual([0, 1, 2, 3]);
          expect([first.held().length, second.held().length]).toEqual([2, 2]);
        }, patience);
        for (const kept of first.held()) {
          await vi.waitFor(() => expect(first.timesAssigned(kept)).toBeGreaterThan(1), patience);
        }

        await other.leave();
        // Well below a session timeout: a leave is told, not found out.
        await vi.waitFor(() => expect(first.held()).toEqual([0, 1, 2, 3]), { timeout: 8_000, interval: 25 });
        await bus.produce([0, 1, 2, 3].map((partition) => textRecord(topic, partition, `to ${partition}`)));
        await vi.waitFor(() => {
          expect([0, 1, 2, 3].map((partition) => first.texts(partition))).toEqual([
            ['to 0'],
            ['to 1'],
            ['to 2'],
            ['to 3'],
          ]);
        }, patience);
      },
    );

    test('reopening asks again where to read, and never beside a running call', slow, async () => {
      const bus = await connected();
      const topic = await topicOn(bus, 1);
      await bus.produce(['a', 'b'].map((text) => textRecord(topic, 0, text)));
      const gate = Promise.withResolvers<void>();
      const owner = recordingOwner({
        whileBatch: () => (owner.timesAssigned(0) === 1 ? gate.promise : Promise.resolve()),
      });
      const membership = await join(bus, groupName(), topic, owner);
      await vi.waitFor(() => expect(owner.running()).toBe(1), patience);
      membership.reopen(0);
      await bus.offsets(topic);
      expect(owner.timesAssigned(0)).toBe(1);
      gate.resolve();
      await vi.waitFor(() => expect(owner.texts(0).slice(-2)).toEqual(['a', 'b']), patience);
      await vi.waitFor(() => expect(owner.timesAssigned(0)).toBe(2), patience);
      expect(owner.overlapped()).toBe(false);

      membership.reopen(0);
      await vi.waitFor(() => expect(owner.timesAssigned(0)).toBe(3), patience);
      expect(membership.health().partitions).toEqual([0]);
    });

    test('a call that throws ends the membership with that error', slow, async () => {
      const bus = await connected();
      const topic = await topicOn(bus, 1);
      await bus.produce([textRecord(topic, 0, 'a')]);
      const thrown = new Error('a fault of the owner');
      const inBatch = await join(bus, groupName(), topic, recordingOwner({ whileBatch: () => Promise.reject(thrown) }));
      await expect(inBatch.ended).rejects.toBe(thrown);
      const inAssigned = await join(
        bus,
        groupName(),
        topic,
        recordingOwner({
          openAt: () => {
            throw thrown;
          },
        }),
      );
      await expect(inAssigned.ended).rejects.toBe(thrown);
      expect(inAssigned.health().joined).toBe(false);
    });
  });

  describe(`${name}: a tail`, () => {
    test('reads all partitions from their start, says when, and goes on', slow, async () => {
      const bus = await connected();
      const topic = await topicOn(bus, 2);
      await bus.produce([textRecord(topic, 0, 'a'), textRecord(topic, 1, 'b'), textRecord(topic, 0, 'c')]);
      await bus.produce([{ topic, partition: 0, key: Buffer.from('k'), value: null }]);
      const seen: [number, bigint, string | null][] = [];
      const tail = await bus.tail(topic, (partition, record) => seen.push([partition, record.offset, textOf(record)]));
      await tail.ready;
      const of = (partition: number) => seen.filter(([from]) => from === partition);
      expect([of(0), of(1)]).toEqual([
        [
          [0, 0n, 'a'],
          [0, 1n, 'c'],
          [0, 2n, null],
        ],
        [[1, 0n, 'b']],
      ]);

      await bus.produce([textRecord(topic, 1, 'd')]);
      await vi.waitFor(() => expect(of(1).at(-1)).toEqual([1, 1n, 'd']), patience);
      await tail.close();
      await bus.produce([textRecord(topic, 1, 'unseen')]);
      expect(of(1)).toHaveLength(2);
    });

    test('of an empty topic is ready at once', slow, async () => {
      const bus = await connected();
      const topic = await topicOn(bus, 3);
      const seen: string[] = [];
      const tail = await bus.tail(topic, (_, record) => seen.push(String(record.value)));
      await tail.ready;
      expect(seen).toEqual([]);
      await bus.produce([textRecord(topic, 2, 'a')]);
      await vi.waitFor(() => expect(seen).toEqual(['a']), patience);
      await tail.close();
    });

    test('two tails of one topic both see everything', slow, async () => {
      const [bus, other] = [await connected(), await connected()];
      const topic = await topicOn(bus, 1);
      await bus.produce([textRecord(topic, 0, 'a')]);
      const [left, right]: [string[], string[]] = [[], []];
      const tails = [
        await bus.tail(topic, (_, record) => left.push(String(record.value))),
        await other.tail(topic, (_, record) => right.push(String(record.value))),
      ];
      await bus.produce([textRecord(topic, 0, 'b')]);
      await vi.waitFor(
        () =>
          expect([left, right]).toEqual([
            ['a', 'b'],
            ['a', 'b'],
          ]),
        patience,
      );
      await Promise.all(tails.map((tail) => tail.close()));
    });
  });
}

const specOf = (name: string, partitions: number): TopicSpec => ({
  name,
  partitions,
  replicas: 1,
  config: { 'message.timestamp.type': 'LogAppendTime' },
});

const textRecord = (topic: string, partition: number, text: string): OutgoingRecord => ({
  topic,
  partition,
  key: Buffer.from('k'),
  value: Buffer.from(text),
});

const textOf = (record: IncomingRecord): string | null => record.value?.toString('utf8') ?? null;
