import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { startInfrastructure } from './infrastructure.ts';
import type { Addresses } from './parts.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Where Kafka, Redis and the registry of this run are: `inject('infrastructure')`. */
    readonly infrastructure: Addresses;
  }
}

/** Starts what the integration tests need before the first of them, and returns how it ends after the last. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { stop, kafkaBrokers, redisUrl, schemaRegistryUrl } = await startInfrastructure({
    dir: await mkdtemp(join(tmpdir(), 'signalbox-test-')),
    keepData: false,
    report: (line) => process.stderr.write(`${line}\n`),
  });
  project.provide('infrastructure', { kafkaBrokers, redisUrl, schemaRegistryUrl });
  return stop;
}
