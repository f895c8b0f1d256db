import { expect, test } from 'vitest';
import { compareEnds } from './compare.ts';
import type { End } from './ends.ts';

const end = (offset: number, name: string, more: Partial<End> = {}): End => ({
  partition: 0,
  offset: BigInt(offset),
  rootId: `raw-${offset}`,
  route: 'iris|desk',
  name,
  content: '{}',
  ...more,
});

test('what is decided as it was makes no difference, whatever the order', () => {
  const ends = [end(1, 'accepted'), end(2, 'wake', { route: '' }), end(2, 'accepted', { route: '' })];
  expect(compareEnds(ends, ends.toReversed())).toEqual({ tallies: [], differences: [] });
});

test('ends that come or go are counted by their names, and told record by record in the order of the log', () => {
  const was = [
    end(10, 'filtered'),
    end(2, 'filtered'),
    end(3, 'accepted'),
    end(4, 'dead_letter', { reason: 'invalid_binding_filter' }),
  ];
  const now = [
    end(2, 'accepted'),
    end(10, 'accepted'),
    end(3, 'filtered'),
    end(4, 'accepted'),
    end(4, 'accepted', { route: 'zoe|x' }),
  ];
  expect(compareEnds(was, now)).toEqual({
    tallies: [
      { end: 'accepted', more: 4, fewer: 1 },
      { end: 'filtered', more: 1, fewer: 2 },
      { end: 'dead_letter', more: 0, fewer: 1 },
    ],
    differences: [
      { rootId: 'raw-2', partition: 0, offset: '2', route: 'iris|desk', was: ['filtered'], now: ['accepted'] },
      { rootId: 'raw-3', partition: 0, offset: '3', route: 'iris|desk', was: ['accepted'], now: ['filtered'] },
      {
        ...{ rootId: 'raw-4', partition: 0, offset: '4', route: 'iris|desk' },
        ...{ was: ['dead_letter (invalid_binding_filter)'], now: ['accepted'] },
      },
      { rootId: 'raw-4', partition: 0, offset: '4', route: 'zoe|x', was: [], now: ['accepted'] },
      { rootId: 'raw-10', partition: 0, offset: '10', route: 'iris|desk', was: ['filtered'], now: ['accepted'] },
    ],
  });
});

test('the same end with another content is a difference that counts for no end', () => {
  expect(compareEnds([end(1, 'wake')], [end(1, 'wake', { content: '{"text":"other"}' })])).toEqual({
    tallies: [],
    differences: [{ rootId: 'raw-1', partition: 0, offset: '1', route: 'iris|desk', was: ['wake'], now: ['wake'] }],
  });
});
