import { expect, test } from 'vitest';
import { murmur2, partitionOf } from './partition.ts';

test('the hash is the one of the Java client, sign included', () => {
  const vectors: readonly (readonly [string, number])[] = [
    ['21', -973_932_308],
    ['foobar', -790_332_482],
    ['a-little-bit-long-string', -985_981_536],
    ['a-little-bit-longer-string', -1_486_304_829],
    ['lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8', -58_897_971],
    ['abc', 479_470_107],
  ];
  expect(vectors.map(([text]) => [text, murmur2(Buffer.from(text))])).toEqual(vectors);
});

test('every key falls into a partition that exists, the same one each time', () => {
  const keys = Array.from({ length: 500 }, (_, index) => `github:octo/répo#${index}`);
  const partitions = keys.map((key) => partitionOf(key, 12));
  expect(partitions.every((partition) => Number.isInteger(partition) && partition >= 0 && partition < 12)).toBe(true);
  expect(new Set(partitions).size).toBe(12);
  expect(keys.map((key) => partitionOf(key, 12))).toEqual(partitions);
});
