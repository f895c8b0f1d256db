import { expect, test } from 'vitest';
import { createRowCache, createRowFilter } from './row-cache.ts';

test('a cache keeps what was written last, and forgets what is too much', () => {
  const cache = createRowCache(4);
  const rows = ['row-0', 'row-1', 'row-2', 'row-3'];
  for (const row of rows.slice(0, 3)) cache.set(row, '1');
  cache.shrink();
  cache.set('row-1', '2');
  cache.set('row-2', null);
  expect(rows.map(cache.get)).toEqual(['1', '2', null, undefined]);
  cache.set('row-3', '3');
  cache.shrink();
  expect(rows.map(cache.get)).toEqual([undefined, '2', null, '3']);
});

test('a cache of nothing forgets all between batches', () => {
  const cache = createRowCache(0);
  cache.set('row', '1');
  expect(cache.get('row')).toBe('1');
  cache.shrink();
  expect(cache.get('row')).toBe(undefined);
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
