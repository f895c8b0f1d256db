import { z } from 'zod';
import type { Keep } from '../../../schemas/define.ts';
import { topics as declared } from '../../../schemas/index.ts';
import { jsonSchemaText, subjectOf } from '../../../shared/json-schema.ts';
import { defineCommand } from '../command.ts';
import { table } from '../style.ts';

const keepText = (keep: Keep): string => {
  if (keep === 'compacted') return 'newest of each key';
  return keep === 'forever' ? 'for ever' : `${keep.days} d`;
};

export const topics = defineCommand({
  name: 'topics',
  summary: 'Show each topic: partitions, key, retention, schema id, records.',
  details: 'What is not there yet is shown as a dash; `signalbox migrate` creates it.',
  options: z.strictObject({}),

  async run(_options, context) {
    const [bus, registry] = await Promise.all([context.bus(), context.registry()]);
    return Promise.all(
      declared.map(async (topic) => {
        const [offsets, schemaId] = await Promise.all([
          bus.offsets(topic.name),
          registry.idOf(subjectOf(topic), jsonSchemaText(topic)),
        ]);
        return {
          topic: topic.name,
          summary: topic.summary,
          partitions: offsets?.length ?? null,
          records: offsets?.reduce((sum, { start, end }) => sum + Number(end - start), 0) ?? null,
          keep: keepText(topic.keep),
          schemaId: schemaId ?? null,
          exampleKey: topic.key(topic.example),
        };
      }),
    );
  },

  show(rows, { style }) {
    const cell = (value: number | null): string => (value === null ? style.dim('–') : String(value));
    return table(
      ['topic', 'partitions', 'records', 'kept', 'schema id', 'key, for example'],
      rows.map((row) => [
        row.topic,
        cell(row.partitions),
        cell(row.records),
        row.keep,
        cell(row.schemaId),
        style.dim(row.exampleKey),
      ]),
      style,
      ['partitions', 'records', 'schema id'],
    );
  },
});
