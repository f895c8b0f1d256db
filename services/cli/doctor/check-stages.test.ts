import { expect, test } from 'vitest';
import { checkStage, type GroupReading, type GroupSample } from './check-stages.ts';

/** A sample from `start-end@committed` for each partition. */
const sample = (...partitions: readonly string[]): GroupSample => {
  const read = partitions.map((text) => /^(\d+)-(\d+)@(-?\d+)$/.exec(text)?.slice(1).map(BigInt) ?? []);
  return {
    bounds: read.map(([start = 0n, end = 0n]) => ({ start, end })),
    committed: read.map(([, , committed = -1n]) => committed),
  };
};
const reading = (first: GroupSample, second: GroupSample, members = 1): GroupReading => ({
  stage: 'filter',
  members,
  first,
  second,
});

test('a stage before which nothing waits is well, also where nothing ever came or all has left', () => {
  const still = sample('0-10@10', '0-0@-1', '7-7@-1', '5-9@9');
  expect(checkStage(reading(still, still, 2))).toEqual({
    name: 'filter',
    status: 'ok',
    summary: '2 members, nothing waits',
    details: [],
  });
});

test('a stage that moves is well, and so is one before which records have only just come', () => {
  expect(checkStage(reading(sample('0-10@4', '0-3@3'), sample('0-20@12', '0-5@3')))).toMatchObject({
    status: 'ok',
    summary: '1 member, 10 records wait, all moves',
  });
});

test('a partition that had records at both looks and committed nothing is stuck', () => {
  expect(checkStage(reading(sample('0-10@4', '0-9@-1', '3-9@1'), sample('0-10@4', '0-9@9', '3-9@1')))).toEqual({
    name: 'filter',
    status: 'failed',
    summary: '2 partitions did not move while this looked',
    details: ['partition 0: 6 records from offset 4 on', 'partition 2: 6 records from offset 3 on'],
    fix: 'Look in the log of its process for `waiting`, then at docs/operating.md#a-stage-is-stuck.',
  });
});

test('nobody who runs it is broken where records wait, and worth a look where none do', () => {
  const [none, some] = [sample('0-10@10'), sample('0-10@9')];
  expect(checkStage(reading(none, none, 0))).toMatchObject({ status: 'warning', summary: 'nobody runs it' });
  expect(checkStage(reading(some, some, 0))).toEqual({
    name: 'filter',
    status: 'failed',
    summary: 'nobody runs it, and 1 record waits',
    details: ['partition 0: 1 record from offset 9 on'],
    fix: 'Start it: `signalbox run filter`.',
  });
});

test('a stage far behind is worth a look although it moves', () => {
  expect(checkStage(reading(sample('0-20000@0'), sample('0-20000@500')))).toMatchObject({
    status: 'warning',
    summary: '1 member, 19500 records wait, all moves',
  });
});
