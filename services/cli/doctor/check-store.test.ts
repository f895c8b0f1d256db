import { expect, test } from 'vitest';
import { checkEviction, checkMemory, checkPersistence } from './check-store.ts';

test('a Redis that keeps everything, and keeps it through a restart, is well', () => {
  expect([
    checkEviction({ evictionPolicy: 'noeviction' }),
    checkPersistence({ appendOnly: true, appendsWell: true }),
    checkMemory({ usedBytes: 3_145_728, maxBytes: 0 }),
    checkMemory({ usedBytes: 1_048_576, maxBytes: 4_194_304 }),
  ]).toEqual([
    { name: 'eviction', status: 'ok', summary: 'noeviction', details: [] },
    { name: 'persistence', status: 'ok', summary: 'AOF', details: [] },
    { name: 'memory', status: 'ok', summary: '3.0 MiB used, no limit', details: [] },
    { name: 'memory', status: 'ok', summary: '1.0 MiB used of 4.0 MiB', details: [] },
  ]);
});

test('a Redis that may evict is broken', () => {
  expect(checkEviction({ evictionPolicy: 'allkeys-lru' })).toEqual({
    name: 'eviction',
    status: 'failed',
    summary: 'allkeys-lru',
    details: ['The Redis may evict keys, which would change what stages remember.'],
    fix: 'Set `maxmemory-policy noeviction` and start again.',
  });
});

test('without a file Redis is doubtful, with one that it cannot write it is broken', () => {
  expect(checkPersistence({ appendOnly: false, appendsWell: true })).toMatchObject({
    status: 'warning',
    summary: 'no AOF',
    fix: 'Set `appendonly yes` and `appendfsync everysec`.',
  });
  expect(checkPersistence({ appendOnly: true, appendsWell: false })).toMatchObject({
    status: 'failed',
    summary: 'the last write failed',
  });
});

test.each([
  [79, 'ok'],
  [80, 'warning'],
  [94, 'warning'],
  [95, 'failed'],
] as const)('a memory that is used by %i of 100 is %s', (usedBytes, status) => {
  expect(checkMemory({ usedBytes, maxBytes: 100 }).status).toBe(status);
});
