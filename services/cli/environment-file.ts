import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { environmentFile, environmentText, readEnvironmentFile } from './environment.ts';

/** How an infrastructure is reached. */
export interface InfrastructureAddresses {
  readonly kafkaBrokers: string;
  readonly redisUrl: string;
  readonly schemaRegistryUrl: string;
}

/**
 * Writes how an infrastructure is reached to the environment file of a folder, and answers what it wrote. The key that
 * seals secrets is made once and kept, since what it sealed outlives the process.
 */
export function writeEnvironmentFile(
  folder: string,
  addresses: InfrastructureAddresses,
): Readonly<Record<string, string>> {
  const before = readEnvironmentFile(folder) ?? {};
  const values = {
    KAFKA_BROKERS: addresses.kafkaBrokers,
    REDIS_URL: addresses.redisUrl,
    SCHEMA_REGISTRY_URL: addresses.schemaRegistryUrl,
    SIGNALBOX_SECRET_KEYS: before.SIGNALBOX_SECRET_KEYS ?? `dev:${randomBytes(32).toString('base64')}`,
  };
  const path = join(folder, environmentFile);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, environmentText(values), { mode: 0o600 });
  return values;
}
