import fc from 'fast-check';
import { expect, test } from 'vitest';
import { partitionOf } from '../../shared/partition.ts';
import type { Bus, IncomingRecord } from '../../shared/runtime/bus.ts';
import { type Found, lookBack } from './look-back.ts';

/** A log of these partitions, each a list of its records, and what was read of it. */
function logOf(partitions: readonly (readonly IncomingRecord[])[], start = 0n) {
  let read = 0;
  const bus: Pick<Bus, 'offsets' | 'read'> = {
    offsets: async () => partitions.map((records) => ({ start, end: (records.at(-1)?.offset ?? start - 1n) + 1n })),
    async read({ partition, offset, limit }) {
      const found = (partitions[partition] ?? []).filter((record) => record.offset >= offset).slice(0, limit);
      read += found.length;
      return found;
    },
  };
  return { bus, read: () => read };
}

const record = (offset: bigint, at: number, value: Buffer | null = null): IncomingRecord => ({
  offset,
  at,
  key: null,
  value,
  header: undefined,
  traceparent: undefined,
});

/** A partition whose offsets have gaps, as control records and compaction leave them, and whose clock never goes back. */
const partition = fc
  .array(fc.record({ gap: fc.integer({ min: 1, max: 200 }), later: fc.integer({ min: 0, max: 50 }) }), {
    maxLength: 60,
  })
  .map((steps) => {
    let [offset, at] = [-1n, 0];
    return steps.map(({ gap, later }) => {
      offset += BigInt(gap);
      at += later;
      return record(offset, at);
    });
  });

test('page after page every record is seen once, newest first, and no page looks at or reads more than it may', async () => {
  const look = fc.integer({ min: 1, max: 40 });
  await fc.assert(
    fc.asyncProperty(fc.array(partition, { minLength: 1, maxLength: 4 }), look, async (partitions, look) => {
      const seen: { readonly partition: number; readonly record: IncomingRecord }[] = [];
      let cursor: string | undefined;
      do {
        const log = logOf(partitions);
        const before = seen.length;
        const end = await lookBack(log.bus, { topic: 't', cursor, look }, ({ partition: of, record: each, begin }) => {
          expect(begin).toBe(seen[before - 1]?.record.at);
          seen.push({ partition: of, record: each });
          return true;
        });
        expect(end.looked).toBe(seen.length - before);
        expect(end.looked).toBeLessThanOrEqual(look);
        expect(end.backTo).toBe(end.looked === 0 ? undefined : seen.at(-1)?.record.at);
        expect(log.read()).toBeLessThanOrEqual((look + 64) * 4 * partitions.length);
        cursor = end.next;
      } while (cursor !== undefined);
      const all = partitions.flatMap((records, of) => records.map((each) => ({ partition: of, record: each })));
      expect(new Set(seen.map((each) => `${each.partition}/${each.record.offset}`)).size).toBe(all.length);
      expect(seen).toHaveLength(all.length);
      const times = seen.map((each) => each.record.at);
      expect(times).toEqual(times.toSorted((a, b) => b - a));
    }),
  );
});

test('the record at which a look ends is the first of the next', async () => {
  const { bus } = logOf([[0n, 1n, 2n].map((offset) => record(offset, Number(offset)))]);
  const taken: bigint[] = [];
  const first = await lookBack(bus, { topic: 't', cursor: undefined, look: 9 }, ({ record: { offset } }) => {
    if (offset === 1n) return false;
    taken.push(offset);
    return true;
  });
  expect(first).toEqual({ looked: 1, backTo: 2, next: '1-2' });
  const rest = await lookBack(
    bus,
    { topic: 't', cursor: first.next, look: 9 },
    ({ record: each }) => taken.push(each.offset) > 0,
  );
  expect([rest, taken]).toEqual([{ looked: 2, backTo: 0, next: undefined }, [2n, 1n, 0n]]);
});

test('what comes meanwhile is not on the later pages, and records that left the topic are not waited for', async () => {
  const records = [5n, 6n, 7n, 8n].map((offset) => record(offset, Number(offset)));
  const { bus } = logOf([records, []], 5n);
  const seen: bigint[] = [];
  const see = ({ record: each }: Found) => seen.push(each.offset) > 0;
  expect((await lookBack(bus, { topic: 't', cursor: '9-7-0', look: 9 }, see)).next).toBeUndefined();
  expect((await lookBack(bus, { topic: 't', cursor: '9-3-0', look: 9 }, see)).next).toBeUndefined();
  expect(seen).toEqual([6n, 5n]);
});

test('with a key, its partition alone is looked at', async () => {
  const log = logOf([[record(0n, 1)], [record(0n, 2)], [record(0n, 3)]]);
  const { next, looked } = await lookBack(
    log.bus,
    { topic: 't', key: 'a', cursor: undefined, look: 9 },
    ({ partition: of }) => {
      expect(of).toBe(partitionOf('a', 3));
      return true;
    },
  );
  expect({ next, looked, read: log.read() }).toEqual({ next: undefined, looked: 1, read: 1 });
});

test('large records are read few at a time, and end a look before it has looked at as many as it may', async () => {
  const large = Buffer.alloc(1_048_577);
  const log = logOf([Array.from({ length: 100 }, (_, index) => record(BigInt(index), index, large))]);
  const first = await lookBack(log.bus, { topic: 't', cursor: undefined, look: 6_000 }, () => true);
  expect(first).toMatchObject({ looked: 32, next: expect.stringMatching(/-68$/) });
  expect(log.read()).toBeLessThan(34);
  expect(await lookBack(log.bus, { topic: 't', cursor: first.next, look: 6_000 }, () => true)).toMatchObject({
    looked: 32,
    next: expect.stringMatching(/-36$/),
  });
});

test('a cursor of another list is refused', async () => {
  const { bus } = logOf([[], []]);
  const refused = lookBack(bus, { topic: 't', cursor: '9-1', look: 9 }, () => true);
  await expect(refused).rejects.toMatchObject({ code: 'input-invalid' });
});
