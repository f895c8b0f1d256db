import { expect, test } from 'vitest';
import { progressText } from './progress.ts';

const standing = (partition: number, start: bigint, next: bigint, goal: bigint) => ({ partition, start, next, goal });

test('tells records, rate, time left and the share of each partition', () => {
  const partitions = [standing(0, 0n, 1_000n, 999n), standing(1, 500n, 750n, 1_499n), standing(2, 0n, 0n, -1n)];
  expect(progressText({ type: 'folding', partitions, folded: 500 }, 1_000)).toBe(
    '1250 of 2000 records (62 %), 500/s, 2 s left [100 25 100]',
  );
  expect(progressText({ type: 'folding', partitions, folded: 2 }, 1_000)).toBe(
    '1250 of 2000 records (62 %), 2/s, 7 min left [100 25 100]',
  );
});

test('says nothing of the time left before anything was folded', () => {
  const partitions = [standing(0, 90n, 90n, 40n), standing(1, 0n, 0n, 9n)];
  expect(progressText({ type: 'folding', partitions, folded: 0 }, 0)).toBe('0 of 10 records (0 %), 0/s [100 0]');
});
