import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { asyncApi, trafficOf } from './asyncapi.ts';
import { type GeneratedFile, jsonText, root } from './file.ts';
import { operationIndex, providerIndex, schemaIndex, stageIndex } from './lists.ts';
import { behavioursPage } from './reference-behaviours.ts';
import { errorsPage } from './reference-errors.ts';
import { settingsPage } from './reference-settings.ts';
import { topicsPage } from './reference-topics.ts';
import { jsonSchemas, schemaReadme } from './schema-pages.ts';
import { aroundTheStages } from './traffic.ts';

/** The lists of folders and files. They come first: everything else imports what they list. */
export const generatedLists = async (): Promise<readonly GeneratedFile[]> => [
  await schemaIndex(),
  providerIndex(),
  stageIndex(),
  await operationIndex(),
];

/** What is made from the declarations. The lists have to be as they should be. */
export async function generatedPages(): Promise<readonly GeneratedFile[]> {
  // Imported late, since what they import may have been written a moment ago.
  const { providers } = await import('../../shared/providers/index.ts');
  const { stages } = await import('../../services/index.ts');
  const { providersPage } = await import('./reference-providers.ts');
  const { metricsPage } = await import('./reference-metrics.ts');
  const { operations } = await import('../../services/api/operations/index.ts');
  const { openApi } = await import('../../services/api/openapi.ts');
  const { commandsPage } = await import('./reference-commands.ts');
  const packageJson: unknown = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'));
  const { version } = z.object({ version: z.string() }).parse(packageJson);
  const traffic = [...aroundTheStages, ...[...stages.values()].map(trafficOf)];
  return [
    ...(await jsonSchemas()),
    await schemaReadme(),
    await topicsPage(traffic),
    providersPage(providers),
    errorsPage(),
    behavioursPage(),
    await settingsPage(),
    metricsPage(stages),
    commandsPage(),
    await asyncApi(version, traffic),
    { path: 'docs/openapi.json', text: jsonText(openApi(operations, version)) },
  ];
}

/** Every generated file of the repository. */
export const generatedFiles = async (): Promise<readonly GeneratedFile[]> => [
  ...(await generatedLists()),
  ...(await generatedPages()),
];
