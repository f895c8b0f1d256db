import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineTopic, type Topic } from '../../schemas/define.ts';
import { jsonSchemaText, subjectOf } from '../json-schema.ts';
import { runUntil, settle } from '../testing/settle.ts';
import { createCodec } from './codec.ts';
import { unavailable } from './memory/faults.ts';
import { createSimulation } from './memory/simulation.ts';
import type { SchemaRegistry } from './schema-registry.ts';
import { openTable, type TableProblem, tableOf } from './tables.ts';

const Bell = z.object({ id: z.string(), room: z.string(), tone: z.int().optional() });
type Bell = z.infer<typeof Bell>;

const bells = defineTopic<Bell>({
  name: 'bells',
  summary: 'Bells by room.',
  value: Bell,
  key: ({ id }) => id,
  keep: 'compacted',
  index: ({ room }) => room,
  example: { id: 'a', room: 'hall' },
});
const inHall = (id: string): Bell => ({ id, room: 'hall' });

/** A compacted topic in memory, and tables that read it by a registry that can be switched off. */
async function bellsInMemory({ partitions = 1 } = {}) {
  const simulation = createSimulation({ seed: 3 });
  simulation.createTopics([{ name: 'bells', partitions }]);
  simulation.register(subjectOf(bells), jsonSchemaText(bells as Topic));
  const writer = simulation.process('writer');
  const written = await settle(simulation, createCodec({ registry: writer.registry, writes: [bells as Topic] }));
  const problems: TableProblem[] = [];
  const registry = { away: false, asked: 0 };

  const switched = (real: SchemaRegistry): SchemaRegistry => ({
    ...real,
    async lookUp(id) {
      registry.asked++;
      const found = await real.lookUp(id);
      if (registry.away) throw unavailable('switched off');
      return found;
    },
  });

  return {
    simulation,
    problems,
    registry,
    frame: (bell: Bell) => written.encode(bells, bell),
    append: (key: string | null, value: Buffer | Bell | null, partition = 0) => {
      const bytes = value === null || Buffer.isBuffer(value) ? value : written.encode(bells, value);
      const record = { topic: 'bells', partition, key: key === null ? null : Buffer.from(key), value: bytes };
      return settle(simulation, writer.bus.produce([record]));
    },
    async open() {
      const reader = simulation.process('reader');
      const codec = await createCodec({ registry: switched(reader.registry), writes: [] });
      return settle(
        simulation,
        openTable({ ...reader, topic: bells, codec, retryMs: 10, onProblem: (problem) => problems.push(problem) }),
      );
    },
  };
}

describe('a table', () => {
  test('is ready when all is read that the topic held, of every partition, and not before', async () => {
    const { simulation, append, open } = await bellsInMemory({ partitions: 3 });
    const ids = Array.from({ length: 30 }, (_, index) => `bell-${String(index).padStart(2, '0')}`);
    for (const [index, id] of ids.entries()) await append(id, inHall(id), index % 3);
    const { table, ready, size } = await open();
    const atReady = ready.then(() => table.all().map(({ id }) => id));
    expect([table.all(), size()]).toEqual([[], 0]);
    expect(await settle(simulation, atReady)).toEqual(ids);
    expect(size()).toBe(30);
  });

  test('of an empty topic is ready and empty', async () => {
    const { simulation, open } = await bellsInMemory({ partitions: 2 });
    const { table, ready } = await open();
    await settle(simulation, ready);
    expect([table.all(), table.by('hall'), table.get('a')]).toEqual([[], [], undefined]);
  });

  test('follows its topic: a newer value replaces, a null deletes, the index moves with the value', async () => {
    const { simulation, append, open, problems } = await bellsInMemory();
    for (const id of ['c', 'a', 'b']) await append(id, inHall(id));
    const { table, ready } = await open();
    await settle(simulation, ready);
    expect(table.by('hall')).toEqual(['a', 'b', 'c'].map(inHall));

    await append('b', { id: 'b', room: 'attic' });
    await append('c', null);
    await append('never-there', null);
    await append('a', { ...inHall('a'), tone: 3 });
    await runUntil(simulation, () => table.get('a')?.tone === 3);
    expect([table.by('hall'), table.by('attic'), table.get('c'), problems]).toEqual([
      [{ ...inHall('a'), tone: 3 }],
      [{ id: 'b', room: 'attic' }],
      undefined,
      [],
    ]);

    await append('b', inHall('b'));
    await runUntil(simulation, () => table.by('hall').length === 2);
    expect([table.by('attic'), table.all().map(({ id }) => id)]).toEqual([[], ['a', 'b']]);
  });

  test('keeps the last good value where a record cannot be used, and says so once', async () => {
    const { simulation, append, open, frame, problems } = await bellsInMemory();
    await append('a', inHall('a'));
    await append('a', Buffer.from('{}'));
    await append('a', Buffer.concat([frame(inHall('a')).subarray(0, 5), Buffer.from('{"id":"a","room":7}')]));
    await append('a', inHall('b'));
    await append(null, inHall('a'));
    const unknown = Buffer.from(frame(inHall('a')));
    unknown.writeInt32BE(99, 1);
    await append('a', unknown);
    await append('z', inHall('z'));
    const { table, ready } = await open();
    await settle(simulation, ready);
    expect(table.all()).toEqual([inHall('a'), inHall('z')]);
    expect(problems).toEqual(
      ['frame-invalid', 'contract-violated', 'key-differs', 'key-absent', 'schema-unknown'].map((code, index) => ({
        topic: 'bells',
        partition: 0,
        offset: BigInt(index + 1),
        code,
      })),
    );
  });

  test('takes in nothing more once it is closed', async () => {
    const { simulation, append, open } = await bellsInMemory();
    await append('a', inHall('a'));
    const { table, ready, close } = await open();
    await settle(simulation, ready);
    await settle(simulation, close());
    await append('b', inHall('b'));
    await simulation.run();
    expect(table.all()).toEqual([inHall('a')]);
  });
});

describe('while the registry is away', () => {
  test('a table waits and is not ready; when it is back, everything is there in order and nothing was reported', async () => {
    const { simulation, append, open, registry, problems } = await bellsInMemory();
    await append('a', inHall('a'));
    await append('a', { ...inHall('a'), tone: 1 });
    await append('a', null);
    await append('b', inHall('b'));
    registry.away = true;
    const { table, ready } = await open();
    let isReady = false;
    const noted = ready.then(() => {
      isReady = true;
    });
    await runUntil(simulation, () => registry.asked >= 5);
    expect([isReady, table.all()]).toEqual([false, []]);

    registry.away = false;
    await settle(simulation, noted);
    expect([table.all(), problems]).toEqual([[inHall('b')], []]);
  });

  test('a table that is closed gives up what it waited for', async () => {
    const { simulation, append, open, registry } = await bellsInMemory();
    await append('a', inHall('a'));
    registry.away = true;
    const { table, ready, close } = await open();
    await runUntil(simulation, () => registry.asked >= 2);
    await settle(simulation, close());
    await settle(simulation, ready);
    const { asked } = registry;
    await simulation.run();
    expect([table.all(), registry.asked - asked]).toEqual([[], 0]);
  });
});

test('a value is never found under an index that it has left, however often it moves', () => {
  const table = tableOf(bells);
  for (const room of ['hall', 'attic', 'hall', 'cellar']) {
    table.set('a', { id: 'a', room });
    expect(['attic', 'cellar', 'hall'].flatMap((each) => table.by(each))).toEqual([{ id: 'a', room }]);
  }
  table.delete('a');
  expect(['attic', 'cellar', 'hall'].flatMap((room) => table.by(room))).toEqual([]);
});
