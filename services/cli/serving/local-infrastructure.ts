import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { topics } from '../../../schemas/index.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { type Environment, readDeploymentSettings } from '../../../shared/runtime/connection-settings.ts';
import type { Log } from '../../../shared/runtime/log.ts';
import { createEmbeddedInfrastructure } from '../../../shared/runtime/memory/embedded.ts';
import type { Ports } from '../context.ts';
import { writeEnvironmentFile } from '../environment-file.ts';
import { type MigratedTopic, migrate } from '../migrate.ts';
import { openRealPorts } from '../ports.ts';
import { closeWorld, openWorld } from './open-world.ts';

/** Infrastructure that a command started for itself, and how to reach it. */
export interface LocalInfrastructure {
  readonly environment: Environment;
  readonly openPorts: (environment: () => Environment, log: Log) => Ports;
  readonly stop: () => Promise<void>;
}

const newKey = (): string => `dev:${randomBytes(32).toString('base64')}`;

/** Kafka, Redis and a registry in the memory of this process. */
export function embeddedInfrastructure(given: Environment): LocalInfrastructure {
  const embedded = createEmbeddedInfrastructure();
  return {
    environment: {
      ...given,
      KAFKA_BROKERS: 'embedded:9092',
      REDIS_URL: 'redis://embedded',
      SCHEMA_REGISTRY_URL: 'http://embedded',
      SIGNALBOX_SECRET_KEYS: given.SIGNALBOX_SECRET_KEYS ?? newKey(),
    },
    openPorts: () => ({
      bus: async () => embedded.bus(),
      store: async () => embedded.store(),
      registry: async () => embedded.registry(),
    }),
    stop: async () => undefined,
  };
}

/** Real Kafka, Redis and registry: given, in Docker or as processes of this machine. */
export async function realInfrastructure(options: {
  readonly given: Environment;
  readonly folder: string;
  /** The name of the folder below `.signalbox` in which they live. */
  readonly name: string;
  readonly keepData: boolean;
  readonly report: (line: string) => void;
}): Promise<LocalInfrastructure> {
  const { given, folder } = options;
  // Loaded only here: an image of the product has no harness.
  const { startInfrastructure } = await import('../../../test/harness/infrastructure.ts');
  const infrastructure = await startInfrastructure({
    dir: join(folder, '.signalbox', options.name),
    keepData: options.keepData,
    environment: given,
    report: options.report,
  });
  const { kafkaBrokers, redisUrl, schemaRegistryUrl } = infrastructure;
  const addresses = { KAFKA_BROKERS: kafkaBrokers, REDIS_URL: redisUrl, SCHEMA_REGISTRY_URL: schemaRegistryUrl };
  const written = options.keepData ? writeEnvironmentFile(folder, infrastructure) : addresses;
  return {
    environment: {
      SIGNALBOX_SECRET_KEYS: newKey(),
      ...written,
      ...given,
    },
    openPorts: openRealPorts,
    stop: infrastructure.stop,
  };
}

/** Creates topics and registers schemas. */
export async function migrateLocal(
  { environment, openPorts }: LocalInfrastructure,
  { clock, log, stop }: { readonly clock: Clock; readonly log: Log; readonly stop: AbortSignal },
): Promise<readonly MigratedTopic[]> {
  const world = await openWorld({ ports: openPorts(() => environment, log), clock, log, stop });
  try {
    return await migrate(topics, readDeploymentSettings(environment), world);
  } finally {
    await closeWorld(world);
  }
}
