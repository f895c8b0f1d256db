import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { PartName } from '../parts.ts';

export const composeFile = fileURLToPath(new URL('../../../docker-compose.yml', import.meta.url));

const repositories = { kafka: 'apache/kafka', redis: 'redis', registry: 'apicurio/apicurio-registry' } as const;

/** The image of a part. docker-compose.yml alone says which versions are used. */
export function imageOf(part: PartName): string {
  const repository = repositories[part];
  const image = readFileSync(composeFile, 'utf8')
    .split('\n')
    .map((line) => /^ +image: (\S+)$/.exec(line)?.[1])
    .find((name) => name?.startsWith(`${repository}:`));
  if (image === undefined) throw new Error(`${composeFile} names no image of ${repository}`);
  return image;
}
