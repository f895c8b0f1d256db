import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import type { Environment } from '../../shared/runtime/connection-settings.ts';

/** Where `signalbox dev`, `signalbox up` and `make up` write how their infrastructure is reached. */
export const environmentFile = '.signalbox/env';

const addresses = ['KAFKA_BROKERS', 'REDIS_URL', 'SCHEMA_REGISTRY_URL'];

/** The process's own environment. */
export const processEnvironment = (): Environment => process.env;

/** What is written to the environment file: names and values, one a line. */
export const environmentText = (values: Readonly<Record<string, string>>): string =>
  Object.entries(values)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('');

/**
 * An environment, filled up from the environment file of a folder. The file is passed over as soon as one address is
 * given: a mixture of two infrastructures is never meant.
 */
export function withEnvironmentFile(
  given: Environment,
  folder: string,
): { readonly environment: Environment; readonly file: string | undefined } {
  if (addresses.some((name) => (given[name] ?? '') !== '')) return { environment: given, file: undefined };
  const written = readEnvironmentFile(folder);
  if (written === undefined) return { environment: given, file: undefined };
  return { environment: { ...written, ...given }, file: environmentFile };
}

/** The environment file of a folder; undefined when there is none. */
export function readEnvironmentFile(folder: string): Environment | undefined {
  const text = readIfThere(join(folder, environmentFile));
  return text === undefined ? undefined : parseEnv(text);
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && (cause.code === 'ENOENT' || cause.code === 'ENOTDIR')) {
      return undefined;
    }
    throw cause;
  }
}
