import { expect, test } from 'vitest';
import { journeyIndex, journeys } from '../../schemas/journey.ts';
import { partitionOf } from '../partition.ts';
import { createEmbeddedInfrastructure } from '../runtime/memory/embedded.ts';
import { rowOf, type Store } from '../runtime/store.ts';
import { createProjectionReader } from './projection-reader.ts';

const partitions = 4;
const stage = 'decision-journal';
const empty = { decisions: [], dropped: 0 };

async function save(store: Store, partition: number, row: string, content: unknown): Promise<void> {
  const slot = { stage, partition, generation: (await store.generations({ stage, partition })).inUse };
  const rows = [{ row, json: JSON.stringify(content) }];
  await store.save(slot, -1n, { fence: 0n, at: 0, watermarks: new Map(), rows, timers: [] });
}

test('a row is read where its owner puts it, until it has expired', async () => {
  const store = createEmbeddedInfrastructure().store();
  await save(store, partitionOf('raw-1', partitions), rowOf('journeys', 'raw-1'), { v: empty, x: 100 });
  const at = (now: number) => createProjectionReader({ store, stage, partitions, now: () => now });
  expect(await (await at(99)).read(journeys.at('raw-1'))).toEqual(empty);
  expect(await (await at(100)).read(journeys.at('raw-1'))).toBeUndefined();
  expect(await (await at(0)).read(journeys.at('raw-2'))).toBeUndefined();
});

test('a row that may lie anywhere is read from every partition', async () => {
  const store = createEmbeddedInfrastructure().store();
  const row = rowOf('journey-index', 'provider-event|e1');
  await save(store, 1, row, { v: { rootIds: ['a'] } });
  await save(store, 3, row, { v: { rootIds: ['b', 'c'] } });
  const reader = await createProjectionReader({ store, stage, partitions, now: () => 0 });
  const place = journeyIndex.at({ handle: { by: 'provider-event', id: 'e1' }, rootId: '' });
  expect(await reader.readEverywhere(place)).toEqual([{ rootIds: ['a'] }, { rootIds: ['b', 'c'] }]);
});
