import { expect, test } from 'vitest';
import { createRowCache, createRowFilter } from './row-cache.ts';

test('a cache keeps what was written last, and forgets what is too much', () => {
  const cache = createRowCache(4);
  for (let index = 0; index < 3; index++) cache.set(`row-${index}`, { value: index });
  cache.shrink();
  cache.set('row-1', { value: 'again' });
  cache.set('row-2', undefined);
  expect(['row-0', 'row-1', 'row-2', 'row-3'].map((row) => cache.get(row)?.value)).toEqual([
    0,
    'again',
    undefined,
    undefined,
  ]);
  expect(['row-0', 'row-1', 'row-2', 'row-3'].map((row) => cache.has(row))).toEqual([true, true, true, false]);
  cache.set('row-3', { value: 3 });
  cache.shrink();
  expect(['row-0', 'row-1', 'row-2', 'row-3'].map((row) => cache.has(row))).toEqual([false, true, true, true]);
});

test('a cache of nothing forgets all between batches', () => {
  const cache = createRowCache(0);
  cache.set('row', { value: 1 });
  expect(cache.get('row')).toEqual({ value: 1 });
  cache.shrink();
  expect(cache.has('row')).toBe(false);
});

test('a filter has every row that it was given, and few others', () => {
  const filter = createRowFilter();
  const rowAt = (index: number): string => `entries:github:octo/repo#${index % 500}|issue_comment:${index}`;
  const given = Array.from({ length: 200_000 }, (_, index) => rowAt(index));
  for (const row of given) filter.add(row);
  expect(given.filter((row) => !filter.mayHave(row))).toEqual([]);
  const others = Array.from({ length: 20_000 }, (_, index) => rowAt(1_000_000 + index));
  // By the size of the filter, 0.3 % of them.
  expect(others.filter((row) => filter.mayHave(row)).length).toBeLessThan(200);
});
