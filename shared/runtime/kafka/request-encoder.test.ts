import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { crc32c } from '@node-rs/crc32';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import {
  type Encoded,
  exactProduceRequest,
  exactRequestFrame,
  groupByPartition,
  type MessageToEncode,
  type ProduceRequest,
  type ProduceToEncode,
  type RequestFrame,
} from './request-encoder.ts';

/** The client as it comes: a copy that nothing has changed. */
const load = createRequire(import.meta.url);
const upstream: ProduceRequest = load('kafkajs/src/protocol/requests/produce/v3/request');
const upstreamFrame: RequestFrame = load('kafkajs/src/protocol/request');
const upstreamGroup: typeof groupByPartition = load('kafkajs/src/producer/groupMessagesPerPartition');
const Encoder: new (size: number) => Encoded = load('kafkajs/src/protocol/encoder');
const wrap = (bytes: Buffer): Encoded => Object.assign(new Encoder(0), { buf: bytes, offset: bytes.length });
const digestOf = (method: unknown): string => createHash('sha256').update(String(method)).digest('hex');

beforeEach(() => {
  // Both write the time of encoding into a batch.
  vi.useFakeTimers({ now: Date.parse('2031-02-28T06:00:00Z'), toFake: ['Date'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
);
const message: fc.Arbitrary<MessageToEncode> = fc.record(
  {
    key: fc.option(text),
    value: fc.option(text),
    headers: fc.dictionary(fc.string({ unit: 'binary', maxLength: 100 }), text, { maxKeys: 4 }),
  },
  { requiredKeys: ['value'] },
);
const request: fc.Arbitrary<ProduceToEncode> = fc.record({
  acks: fc.constantFrom(-1, 1, 0),
  timeout: fc.nat(),
  topicData: fc.array(
    fc.record({
      topic: fc.string({ unit: 'binary', maxLength: 40 }),
      partitions: fc.array(
        fc.record({
          partition: fc.nat(),
          firstSequence: fc.constant(0),
          messages: fc.array(message, { minLength: 1 }),
        }),
        { maxLength: 3 },
      ),
    }),
    { maxLength: 3 },
  ),
});

const encoded = async (make: ProduceRequest, of: ProduceToEncode): Promise<Buffer> => (await make(of).encode()).buffer;

test('the originals are the ones that this was written for', () => {
  expect([upstream, upstreamFrame, upstreamGroup].map(digestOf)).toEqual([
    '0c90601f2e60bbab5663b6db0e8e701688dd55ba15cc16c5c419b3a13bc7d7b5',
    '989e20fd47854b087d0a699b8312176511e37cc8440b7146b34fa3d494d5a9b4',
    'e77a5484f36362b6bad6dd28c0b65cd513c5373f4d6b6ce8f1c1907ad82a0ac6',
  ]);
});

test('a produce request has the bytes that the original gives it', async () => {
  const untouched = (of: ProduceToEncode) => ({
    ...upstream(of),
    encode: () => expect.fail('left to the original'),
  });
  const exact = exactProduceRequest(untouched, wrap, crc32c);
  await fc.assert(
    fc.asyncProperty(request, async (of) => {
      expect(await encoded(exact, of)).toEqual(await encoded(upstream, of));
    }),
  );
});

test('records of many bytes, and many records, have the bytes that the original gives them', async () => {
  const exact = exactProduceRequest(upstream, wrap, crc32c);
  const messages = Array.from({ length: 300 }, (_, index) => ({
    key: `key-${index}`,
    value: Buffer.alloc(index * 100, index),
    headers: { sb: 'h' },
  }));
  const of = {
    acks: -1,
    timeout: 1,
    producerId: -1,
    topicData: [{ topic: 't', partitions: [{ partition: 3, messages }] }],
  };
  expect(await encoded(exact, of)).toEqual(await encoded(upstream, of));
});

test('what it does not know is left to the original', async () => {
  const one = (each: MessageToEncode, more: Partial<ProduceToEncode> = {}): ProduceToEncode => ({
    acks: -1,
    timeout: 1,
    topicData: [{ topic: 't', partitions: [{ partition: 0, firstSequence: 0, messages: [each] }] }],
    ...more,
  });
  const left = [
    one({ value: 'v', timestamp: '5' }),
    one({ value: 'v', headers: { sb: ['a', 'b'] } }),
    one({ value: 'v' }, { compression: 1 }),
    one({ value: 'v' }, { transactionalId: 't' }),
    one({ value: 'v' }, { producerId: 7 }),
  ];
  const marked = Object.assign(new Encoder(0), { buf: Buffer.from('original'), offset: 8 });
  const exact = exactProduceRequest((of) => ({ ...upstream(of), encode: async () => marked }), wrap, crc32c);
  for (const of of left) expect(await exact(of).encode()).toBe(marked);
  expect(await exact(one({ value: 'v' })).encode()).not.toBe(marked);
});

test('any request has the head that the original gives it', async () => {
  const exact = exactRequestFrame(wrap);
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        correlationId: fc.nat(),
        clientId: fc.option(fc.string({ unit: 'binary', maxLength: 40 })),
        apiKey: fc.nat(100),
        apiVersion: fc.nat(20),
        payload: fc.uint8Array({ maxLength: 2_000 }),
      }),
      async ({ correlationId, clientId, apiKey, apiVersion, payload }) => {
        // Longer than what was written into it, as the client's own encoders are.
        const buf = Buffer.concat([Buffer.from(payload), Buffer.alloc(100, 1)]);
        const encode = async () => Object.assign(new Encoder(0), { buf, offset: payload.length });
        const framed = { correlationId, clientId, request: { apiKey, apiVersion, encode } };
        expect((await exact(framed)).buffer).toEqual((await upstreamFrame(framed)).buffer);
      },
    ),
  );
});

test('records are grouped as by the original', () => {
  const partitioner = ({ message: { partition } }: { readonly message: { readonly partition: number } }) => partition;
  fc.assert(
    fc.property(fc.array(fc.record({ partition: fc.nat(4), number: fc.nat() })), (messages) => {
      const options = { topic: 't', partitionMetadata: [{}], messages, partitioner };
      expect(groupByPartition(options)).toEqual(upstreamGroup(options));
    }),
  );
  expect(
    groupByPartition({ topic: 't', partitionMetadata: [], messages: [{ partition: 1, number: 1 }], partitioner }),
  ).toEqual({});
});

test('whoever loads the client after the changes gets them, and the client is loaded after them', async () => {
  const changed = ['requests/produce/v3/request', 'request'].map((name) => `kafkajs/src/protocol/${name}`);
  expect(changed.map((name) => load(name))).toEqual([upstream, upstreamFrame]);
  await import('./changed-client.ts');
  for (const [index, name] of changed.entries()) expect(load(name)).not.toBe([upstream, upstreamFrame][index]);
  expect(load('kafkajs/src/producer/groupMessagesPerPartition')).toBe(groupByPartition);

  const [first] = await importsOf('./client.ts');
  expect(first).toBe('./changed-client.ts');
});

/** The modules that a file of this folder imports, in order. */
async function importsOf(file: string): Promise<readonly string[]> {
  const source = await readFile(new URL(file, import.meta.url), 'utf8');
  return [...source.matchAll(/^import [^;]*?'([^']+)';/gms)].map(([, name = '']) => name);
}
