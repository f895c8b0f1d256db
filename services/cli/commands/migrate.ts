import { z } from 'zod';
import { topics } from '../../../schemas/index.ts';
import { defineCommand } from '../command.ts';
import { migrate as migrateTopics } from '../migrate.ts';
import { table } from '../style.ts';

export const migrate = defineCommand({
  name: 'migrate',
  summary: 'Create the topics and register their schemas; again changes nothing.',
  details:
    'Everything is checked before a topic is created: that Redis evicts nothing, that no topic has another number of ' +
    'partitions than SIGNALBOX_PARTITIONS, that readers of the registered schemas can read the new ones.',
  options: z.strictObject({}),

  async run(_options, context) {
    const [bus, store, registry] = await Promise.all([context.bus(), context.store(), context.registry()]);
    return migrateTopics(topics, context.deployment(), { bus, store, registry });
  },

  show(migrated, { style }) {
    const mark = (text: string): string => (text === 'unchanged' ? style.dim(text) : style.green(text));
    const rows = migrated.map(({ topic, partitions, log, schema, schemaId }) => [
      topic,
      String(partitions),
      mark(log),
      mark(schema),
      String(schemaId),
    ]);
    return table(['topic', 'partitions', 'log', 'schema', 'id'], rows, style, ['partitions', 'id']);
  },
});
