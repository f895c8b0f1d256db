import { startCompose } from './docker/compose.ts';
import { engineAnswers } from './docker/engine.ts';
import { givenAddresses } from './given.ts';
import { startNative } from './native/native.ts';
import type { Infrastructure, InfrastructureOptions } from './parts.ts';

export type { Addresses, Environment, Infrastructure, InfrastructureOptions, Part, PartName } from './parts.ts';

/** Has Kafka, Redis and a registry answer: given by settings, else in Docker, else as processes of this machine. */
export async function startInfrastructure(options: InfrastructureOptions): Promise<Infrastructure> {
  const { report, environment = process.env } = options;
  const given = givenAddresses(environment);
  if (given !== undefined) {
    report('Infrastructure: given by KAFKA_BROKERS, REDIS_URL and SCHEMA_REGISTRY_URL.');
    return { way: 'given', ...given, parts: {}, stop: async () => undefined };
  }
  if (await engineAnswers(environment)) {
    report('Infrastructure: Docker, since an engine answers.');
    if (options.keepData) return startCompose(options);
    // Loaded only here: testcontainers takes most of a second, and is absent where only the product is installed.
    const { startContainers } = await import('./docker/containers.ts');
    return startContainers(options);
  }
  report('Infrastructure: processes of this machine, since no address is given and no Docker engine answers.');
  return startNative(options);
}
