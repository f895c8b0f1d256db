import { expect, test } from 'vitest';
import { partitionOf } from '../partition.ts';
import { type Ask, asks, type Counted, counted } from '../testing/counting-stage.ts';
import { countingWorld } from '../testing/counting-world.ts';
import { settle } from '../testing/settle.ts';
import { createPublisher } from './publisher.ts';

const calm = (key: string): Ask => ({ type: 'calm', key });

async function publisherWorld() {
  const world = await countingWorld({ partitions: 5 });
  const mine = await world.start();
  const asked: string[] = [];
  const bus = {
    ...mine.bus,
    offsets(topic: string) {
      asked.push(topic);
      return mine.bus.offsets(topic);
    },
  };
  return { ...world, asked, publisher: createPublisher({ ...mine, bus }) };
}

test('a value goes to the partition of its key, with its key and no header, and the partition is told', async () => {
  const { simulation, publisher, asked: bounds } = await publisherWorld();
  for (const key of ['a', 'b', 'kanał']) {
    const partition = partitionOf(key, 5);
    expect(await settle(simulation, publisher.publish(asks, calm(key)))).toEqual({ partition });
    const records = simulation.records('asks')[partition] ?? [];
    expect(records.at(-1)).toMatchObject({ key: Buffer.from(key), header: undefined });
  }
  // Partitions are fixed, so they are asked for once.
  expect(bounds).toEqual(['asks']);
});

test('values that are published at once keep their order within a key', async () => {
  const { simulation, publisher, values } = await publisherWorld();
  const asksOfOneKey = Array.from({ length: 20 }, (_, emit): Ask => ({ type: 'count', key: 'a', emit }));
  await settle(simulation, Promise.all(asksOfOneKey.map((ask) => publisher.publish(asks, ask))));
  expect(values(asks)).toEqual(asksOfOneKey);
});

test('a removal is a null under the key', async () => {
  const { simulation, publisher } = await publisherWorld();
  const { partition } = await settle(simulation, publisher.remove(asks, 'a'));
  expect(simulation.records('asks')[partition]).toMatchObject([{ key: Buffer.from('a'), value: null }]);
});

test('what cannot be published rejects: a topic that does not exist, a value that does not fit', async () => {
  const { simulation, publisher, values } = await publisherWorld();
  const codeOf = (work: () => Promise<unknown>) => {
    const rejection = work().then(
      () => 'published',
      (error: unknown) => (error instanceof Error && 'code' in error ? error.code : error),
    );
    return settle(simulation, rejection);
  };
  const elsewhere = { ...counted, name: 'decisions-of-old' };
  const wrong = { key: 'a', count: 'many' } as unknown as Counted;
  expect([
    await codeOf(() => publisher.remove(elsewhere, 'a')),
    await codeOf(() => publisher.publish(counted, wrong)),
    values(counted),
  ]).toEqual(['topic-missing', 'contract-violated', []]);
});

test('a topic that was missing is asked for again', async () => {
  const { simulation, publisher, asked: bounds } = await publisherWorld();
  const late = { ...counted, name: 'late' };
  const removing = () => settle(simulation, publisher.remove(late, 'a'));
  await expect(removing()).rejects.toMatchObject({ code: 'topic-missing', details: { topic: 'late' } });
  simulation.createTopics([{ name: 'late', partitions: 1 }]);
  expect([await removing(), bounds]).toEqual([{ partition: 0 }, ['late', 'late']]);
});
