import { expect, test } from 'vitest';
import { isShared, notMoved } from './handover.ts';

const places = (...all: readonly (readonly [string, number, number])[]) =>
  new Map(all.map(([name, applied, end]) => [name, { applied, end }]));

test('a partition has moved when a record is applied that came after the first look', () => {
  const before = places(['filter/0', 4, 7], ['filter/1', 6, 7], ['filter/2', -1, 0]);
  const names = ['filter/0', 'filter/1', 'filter/2'];
  expect([...notMoved(names, before, before)]).toEqual(names);
  expect([...notMoved(names, before, places(['filter/0', 6, 9], ['filter/1', 7, 9], ['filter/2', 0, 1]))]).toEqual([
    'filter/0',
  ]);
  expect([...notMoved(names, before, places())]).toEqual(names);
});

test('a group is shared when every member has partitions and none is left out', () => {
  const wanted = { members: 2, partitions: 4 };
  const owners = (...lists: readonly (readonly number[])[]) => new Map(lists.map((list, index) => [`${index}`, list]));
  expect(isShared(owners([0, 1], [2, 3]), wanted)).toBe(true);
  expect(isShared(owners([0, 1, 2], [3]), wanted)).toBe(true);
  expect(isShared(owners([0, 1, 2, 3], []), wanted)).toBe(false);
  expect(isShared(owners([0, 1], [2]), wanted)).toBe(false);
  expect(isShared(owners([0], [1], [2, 3]), wanted)).toBe(false);
  expect(isShared(undefined, wanted)).toBe(false);
});
