import { BusError } from '../../shared/errors.ts';
import type { Addresses, Environment } from './parts.ts';

const variables = ['KAFKA_BROKERS', 'REDIS_URL', 'SCHEMA_REGISTRY_URL'] as const;

/** The addresses that the environment gives; undefined when it gives none. A part of them is an error. */
export function givenAddresses(environment: Environment): Addresses | undefined {
  const [kafkaBrokers = '', redisUrl = '', schemaRegistryUrl = ''] = variables.map((name) => environment[name] ?? '');
  const missing = variables.filter((name) => (environment[name] ?? '') === '');
  if (missing.length === variables.length) return undefined;
  if (missing.length > 0) {
    throw new BusError('setting-invalid', {
      problems: missing.map((name) => `${name}: missing`),
      fix: `Set ${missing.join(' and ')} too, or none of ${variables.join(', ')}.`,
    });
  }
  return { kafkaBrokers, redisUrl, schemaRegistryUrl };
}
