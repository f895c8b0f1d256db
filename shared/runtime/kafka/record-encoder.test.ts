import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import {
  type Encoded,
  exactRecordEncoder,
  overrideRecordEncoder,
  type RecordEncoder,
  type RecordToEncode,
} from './record-encoder.ts';

const load = createRequire(import.meta.url);
const upstream: RecordEncoder = load('kafkajs/src/protocol/recordBatch/record/v0');
const wrap = (bytes: Buffer): Encoded => ({ buf: bytes, offset: bytes.length });
const bytesOf = ({ buf, offset }: Encoded): Buffer => buf.subarray(0, offset);
const digestOf = (method: unknown): string => createHash('sha256').update(String(method)).digest('hex');

const field = fc.oneof(
  fc.constant(null),
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
);
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
);

test('the original is the one that this was written for', () => {
  expect(digestOf(upstream)).toBe('88bfde961fa73b1c3f7a8b435354a96c4deb3037acf1b321f226bd1f4a40a372');
});

test('a record has the bytes that the original gives it', () => {
  fc.assert(
    fc.property(
      fc.record({
        offsetDelta: fc.oneof(fc.nat(200), fc.nat()),
        key: field,
        value: field,
        headers: fc.dictionary(fc.string({ unit: 'binary', maxLength: 100 }), text, { maxKeys: 4 }),
      }),
      (record: RecordToEncode) => {
        const exact = exactRecordEncoder(() => expect.fail('left to the original'), wrap);
        expect(bytesOf(exact(record))).toEqual(bytesOf(upstream(record)));
      },
    ),
  );
});

test('a record without headers, and one of many bytes, have the bytes that the original gives them', () => {
  const exact = exactRecordEncoder(() => expect.fail('left to the original'), wrap);
  for (const record of [{ value: 'v' }, { key: null, value: null }, { key: 'k', value: Buffer.alloc(100_000, 7) }]) {
    expect(bytesOf(exact(record))).toEqual(bytesOf(upstream(record)));
  }
});

test('a time of its own and a header of several values are left to the original', () => {
  const original = vi.fn(upstream);
  const exact = exactRecordEncoder(original, wrap);
  const records: readonly RecordToEncode[] = [
    { value: 'v', timestampDelta: 5 },
    { value: 'v', headers: { sb: ['a', 'b'] } },
  ];
  for (const record of records) expect(bytesOf(exact(record))).toEqual(bytesOf(upstream(record)));
  expect(original.mock.calls).toEqual(records.map((record) => [record]));
});

test('requests are encoded by the override, since the client loads what makes them only at the first one', async () => {
  const request = load.resolve('kafkajs/src/protocol/requests/produce/v3/request');
  load('kafkajs');
  expect(load.cache[request]).toBeUndefined();

  const encode = async (): Promise<Buffer> => {
    delete load.cache[request];
    const messages = [1, 2, 3].map((number) => ({ key: 'k', value: `v${number}`, timestamp: 1, headers: { sb: 'h' } }));
    const topicData = [{ topic: 't', partitions: [{ partition: 0, firstSequence: 0, messages }] }];
    const { buffer } = await load(request)({ acks: -1, timeout: 1_000, topicData }).encode();
    return buffer;
  };
  const before = await encode();
  const wrapped = vi.fn();
  overrideRecordEncoder(load, wrapped);
  expect(await encode()).toEqual(before);
  expect(wrapped).toHaveBeenCalledTimes(3);
});
