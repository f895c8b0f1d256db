import { z } from 'zod';
import type { AnyProvider } from '../../shared/provider.ts';
import type { GeneratedFile } from './file.ts';
import { code, page, table } from './markdown.ts';
import { fieldText } from './reference-settings.ts';

const codes = (names: readonly string[]): string => (names.length === 0 ? 'none' : names.map(code).join(', '));

function configTable(config: z.ZodType): string {
  if (!(config instanceof z.ZodObject)) return 'None.';
  const rows = Object.entries(config.shape).map(([name, schema]) => {
    const { type, bounds, standard, description } = fieldText(schema);
    return [code(name), type, bounds, standard, description];
  });
  return table(['Setting', 'Type', 'Bounds', 'Default', 'What it does'], rows);
}

const section = ({ title, kinds, keepHeaders, config, name }: AnyProvider): readonly string[] => [
  `## ${title}`,
  [
    `- Name: ${code(name)}; [notes](../../shared/providers/${name}/README.md)`,
    ...kinds.map((kind) => `- Webhook: ${code(`POST /webhooks/v1/${name}/<connection id>/${kind}`)}`),
    `- Headers kept with the raw fact: ${codes(keepHeaders)}`,
  ].join('\n'),
  'What `signalbox connections put` takes:',
  configTable(config),
];

/** `docs/reference/providers.md`. */
export function providersPage(providers: ReadonlyMap<string, AnyProvider>): GeneratedFile {
  const text = page('Providers', [
    'Where facts come from. Secrets are sealed at rest and never printed.',
    ...[...providers.values()].flatMap(section),
  ]);
  return { path: 'docs/reference/providers.md', text };
}
