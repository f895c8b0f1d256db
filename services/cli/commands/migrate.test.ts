import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineTopic } from '../../../schemas/define.ts';
import { topics } from '../../../schemas/index.ts';
import { jsonSchemaText } from '../../../shared/json-schema.ts';
import { createEmbeddedInfrastructure } from '../../../shared/runtime/memory/embedded.ts';
import { migrate } from '../migrate.ts';
import { createTestWorld } from '../test-world.ts';

const topicOf = (name: string, value: z.ZodType) =>
  defineTopic({ name, summary: 'x', value, key: () => 'k', keep: { days: 1 }, example: {} });

test('the first migration creates everything, the second changes nothing', async () => {
  const world = createTestWorld({ SIGNALBOX_PARTITIONS: '3' });
  const first = await world.json('migrate');
  expect(first).toEqual(
    topics.map(({ name }, index) => ({
      topic: name,
      partitions: 3,
      log: 'created',
      schema: 'registered',
      schemaId: index + 1,
    })),
  );
  expect(await world.json('migrate')).toEqual(
    topics.map(({ name }, index) => ({
      topic: name,
      partitions: 3,
      log: 'unchanged',
      schema: 'unchanged',
      schemaId: index + 1,
    })),
  );
});

test('another number of partitions is refused', async () => {
  const infrastructure = createEmbeddedInfrastructure();
  const ports = { bus: infrastructure.bus(), store: infrastructure.store(), registry: infrastructure.registry() };
  await migrate([topicOf('a', z.object({}))], { partitions: 3, replicas: 1 }, ports);
  const again = migrate(
    [topicOf('a', z.object({})), topicOf('b', z.object({}))],
    { partitions: 4, replicas: 1 },
    ports,
  );
  await expect(again).rejects.toMatchObject({
    code: 'partition-count-changed',
    details: { SIGNALBOX_PARTITIONS: 4, topics: ['a has 3'] },
  });
  expect(await ports.bus.offsets('b')).toBeUndefined();
});

test('an incompatible schema is refused before anything is changed', async () => {
  const infrastructure = createEmbeddedInfrastructure();
  const ports = { bus: infrastructure.bus(), store: infrastructure.store(), registry: infrastructure.registry() };
  const deployment = { partitions: 1, replicas: 1 };
  await migrate([topicOf('a', z.object({ n: z.string() }))], deployment, ports);
  const changed = migrate([topicOf('b', z.object({})), topicOf('a', z.object({ n: z.int() }))], deployment, ports);
  await expect(changed).rejects.toMatchObject({ code: 'schema-incompatible' });
  expect(await ports.bus.offsets('b')).toBeUndefined();
  expect(await ports.registry.idOf('b-value', jsonSchemaText(topicOf('b', z.object({}))))).toBeUndefined();
});

test('topics are shown before and after they exist', async () => {
  const world = createTestWorld({ SIGNALBOX_PARTITIONS: '3' });
  const line = async () => (await world.run('topics')).out.split('\n').find((each) => each.startsWith('actor-events'));
  expect(await line()).toMatch(/^actor-events +– +– +30 d +– +iris\|signal-channel:github:octo\/repo#7$/);
  await world.run('migrate');
  expect(await line()).toMatch(/^actor-events +3 +0 +30 d +\d+ +iris\|signal-channel:github:octo\/repo#7$/);
});
