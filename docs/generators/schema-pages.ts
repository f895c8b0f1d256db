import type { Keep, Topic } from '../../schemas/define.ts';
import { jsonSchemaOf } from '../../shared/json-schema.ts';
import { declaredSchemas } from './declared-schemas.ts';
import { type GeneratedFile, jsonText } from './file.ts';
import { code, page, table } from './markdown.ts';

/** A retention as people read it. */
export function keepText(keep: Keep): string {
  if (keep === 'forever') return 'for ever';
  if (keep === 'compacted') return 'the newest of each key';
  return `${keep.days} days`;
}

/** `schemas/json/<topic>.json`: the contract as it is registered. */
export async function jsonSchemas(): Promise<readonly GeneratedFile[]> {
  const { topics } = await declaredSchemas();
  return topics.map(({ declaration }) => ({
    path: `schemas/json/${declaration.name}.json`,
    text: jsonText(jsonSchemaOf(declaration)),
  }));
}

const topicRow = (file: string, { name, key, example, keep, summary }: Topic): readonly string[] => [
  `[${code(name)}](${file})`,
  code(key(example)),
  keepText(keep),
  summary,
  `[schema](json/${name}.json)`,
];

/** `schemas/README.md`: what is on the bus and in the store. */
export async function schemaReadme(): Promise<GeneratedFile> {
  const { topics, projections } = await declaredSchemas();
  const text = page('Schemas', [
    'What is on the bus and in the store: one file per topic or family of projections, the zod schema is the contract.',
    '## Topics',
    'Equal keys share a partition and keep their order. Values are JSON in the Confluent wire format, under the subject `<topic>-value`.',
    table(
      ['Topic', 'Key, for example', 'Kept', 'What it holds', 'Contract'],
      topics.map(({ file, declaration }) => topicRow(file, declaration)),
    ),
    '## Projections',
    'Each is written by one stage and can be rebuilt from its topic.',
    table(
      ['Projection', 'Written by', 'What it holds'],
      projections.map(({ file, declaration: { name, stage, summary } }) => [
        `[${code(name)}](${file})`,
        code(stage),
        summary,
      ]),
    ),
  ]);
  return { path: 'schemas/README.md', text };
}
