import { expect, test } from 'vitest';
import { formatHeader } from '../runtime/header.ts';
import { createEmbeddedInfrastructure } from '../runtime/memory/embedded.ts';
import { createLogReader } from './log-reader.ts';
import { parsePosition, positionText } from './position.ts';
import { createTrail } from './trail.ts';

const topics = ['one', 'two'].map((name) => ({ name, partitions: 1, replicas: 1, config: {} }));

async function logWith(headers: readonly (string | undefined)[]) {
  const bus = createEmbeddedInfrastructure().bus();
  await bus.createTopics(topics);
  const [first, ...rest] = headers.map((header, index) => ({
    topic: index === 0 ? 'one' : 'two',
    partition: 0,
    key: null,
    value: Buffer.from('x'),
    ...(header !== undefined && { header }),
  }));
  if (first !== undefined) await bus.produce([first, ...rest]);
  return createLogReader(bus);
}

const madeFrom = (topic: string, offset: bigint): string =>
  formatHeader({ rootId: 'r', causeId: 'c', from: { topic, partition: 0, offset, effect: '0' } });

test('a record is climbed to what it came from, each read once', async () => {
  const trail = createTrail(await logWith([undefined, madeFrom('one', 0n), madeFrom('two', 0n)]));
  await trail.climb({ topic: 'two', partition: 0, offset: 1n });
  await trail.climb({ topic: 'two', partition: 0, offset: 0n });
  expect([...trail.nodes].map(([key, { parent }]) => [key, parent])).toEqual([
    ['two/0/1', 'two/0/0'],
    ['two/0/0', 'one/0/0'],
    ['one/0/0', undefined],
  ]);
  expect(trail.times()).toHaveLength(3);
});

test('a redriven record is climbed to the dead letter that it was sent again from, unless the trail ends there', async () => {
  const redriven = formatHeader({ rootId: 'r', causeId: 'c', redrive: 'two/0/0' });
  const log = await logWith([undefined, madeFrom('one', 0n), redriven]);
  const parentsOf = async (...redrives: readonly ['ends'?]) => {
    const trail = createTrail(log, ...redrives);
    await trail.climb({ topic: 'two', partition: 0, offset: 1n });
    return [...trail.nodes].map(([key, { parent }]) => [key, parent]);
  };
  expect(await parentsOf()).toEqual([
    ['two/0/1', 'two/0/0'],
    ['two/0/0', 'one/0/0'],
    ['one/0/0', undefined],
  ]);
  expect(await parentsOf('ends')).toEqual([['two/0/1', undefined]]);
});

test('where a record is no longer kept, the climb ends', async () => {
  const trail = createTrail(await logWith([undefined, madeFrom('one', 9n)]));
  await trail.climb({ topic: 'two', partition: 0, offset: 0n });
  expect(
    [...trail.nodes.values()].map(({ position, logged }) => [positionText(position), logged !== undefined]),
  ).toEqual([
    ['two/0/0', true],
    ['one/0/9', false],
  ]);
});

test('a position is read as it is written, and nothing else is', () => {
  expect(parsePosition('raw-provider-facts/3/17')).toEqual({ topic: 'raw-provider-facts', partition: 3, offset: 17n });
  expect(['a/1', 'a/1/2/3', 'a/x/2', '', 'github:o/r#1'].map(parsePosition)).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});
