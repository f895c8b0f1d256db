import { subjectOf } from '../../shared/json-schema.ts';
import type { Traffic } from './asyncapi.ts';
import { declaredSchemas } from './declared-schemas.ts';
import type { GeneratedFile } from './file.ts';
import { code, page } from './markdown.ts';
import { keepText } from './schema-pages.ts';

const codes = (names: readonly string[]): string => (names.length === 0 ? 'nobody' : names.map(code).join(', '));

/** `docs/reference/topics.md`: each topic with its writers, readers and an example. */
export async function topicsPage(traffic: readonly Traffic[]): Promise<GeneratedFile> {
  const { topics } = await declaredSchemas();
  const sections = topics.flatMap(({ file, declaration: topic }) => {
    const names = (has: (one: Traffic) => boolean) => codes(traffic.filter(has).map(({ name }) => name));
    return [
      `## ${topic.name}`,
      topic.summary,
      [
        `- Declared in [${code(`schemas/${file}`)}](../../schemas/${file}); contract [${code(`${topic.name}.json`)}](../../schemas/json/${topic.name}.json), subject ${code(subjectOf(topic))}`,
        `- Written by ${names(({ sends }) => sends.includes(topic.name))}`,
        `- Read by ${names(({ receives }) => receives.includes(topic.name))}`,
        `- Kept: ${keepText(topic.keep)}`,
        `- Key of the example: ${code(topic.key(topic.example))}`,
      ].join('\n'),
      ['```json', JSON.stringify(topic.example, null, 2), '```'].join('\n'),
    ];
  });
  const text = page('Topics', [
    'Values are JSON in the Confluent wire format, keys plain UTF-8. Equal keys share a partition and keep their order.',
    ...sections,
  ]);
  return { path: 'docs/reference/topics.md', text };
}
