import { type Environment, readConnectionSettings } from '../../shared/runtime/connection-settings.ts';
import type { Log } from '../../shared/runtime/log.ts';
import type { Ports } from './context.ts';

/** The real Kafka, Redis and registry that an environment names. Their clients are loaded only when they are used. */
export const openRealPorts = (environment: () => Environment, log: Log): Ports => ({
  async bus() {
    const { createKafkaBus } = await import('../../shared/runtime/kafka.ts');
    return createKafkaBus(readConnectionSettings(environment()).kafka, log);
  },
  async store() {
    const { createRedisStore } = await import('../../shared/runtime/redis.ts');
    return createRedisStore(readConnectionSettings(environment()).redis, log);
  },
  async registry() {
    const { createSchemaRegistry } = await import('../../shared/runtime/registry.ts');
    return createSchemaRegistry(readConnectionSettings(environment()).schemaRegistry);
  },
});
