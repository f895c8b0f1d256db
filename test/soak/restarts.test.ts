import { expect, test } from 'vitest';
import { restartsOf } from './restarts.ts';

const stages = ['a', 'b', 'c', 'd'];

test('every stage is restarted both ways, evenly', () => {
  const restarts = restartsOf({ timeMs: 540, restartMs: 60, stages });
  expect(restarts.map(({ atMs, stage, signal }) => `${atMs} ${stage} ${signal}`)).toEqual([
    '60 a SIGTERM',
    '120 b SIGKILL',
    '180 c SIGTERM',
    '240 d SIGKILL',
    '300 a SIGKILL',
    '360 b SIGTERM',
    '420 c SIGKILL',
    '480 d SIGTERM',
  ]);
});

test('in a time without room for one, nobody is restarted', () => {
  expect(restartsOf({ timeMs: 60, restartMs: 60, stages })).toEqual([]);
  expect(restartsOf({ timeMs: 61, restartMs: 60, stages })).toHaveLength(1);
});
