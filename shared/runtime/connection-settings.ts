import { z } from 'zod';
import { defineConfig, flag, readConfig } from '../config.ts';
import { BusError } from '../errors.ts';
import { KeyRing } from '../sealing.ts';
import { secret } from '../secret.ts';

const missing = { error: 'is missing; `signalbox dev` starts the infrastructure and writes it to .signalbox/env' };
const path = z.string().min(1).max(4_000).optional();
const name = z.string().min(1).max(500).optional();
const broker = z.string().regex(/^(\[[0-9a-f:.]+\]|[^\s:,]+):\d{1,5}$/i, { error: 'must be host:port,host:port,…' });

/** What is logged: this and everything graver. */
export const LogLevel = z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']);

/** How Kafka is reached. */
export const kafkaConfig = defineConfig('KAFKA', {
  brokers: z
    .string(missing)
    .transform((text) => text.split(',').map((part) => part.trim()))
    .pipe(z.array(broker).min(1).max(100))
    .describe('The brokers to begin with: host:port, parted by commas.'),
  clientId: z.string().min(1).max(200).default('signalbox').describe('The name that brokers log for this client.'),
  sessionTimeoutMs: z.coerce
    .number()
    .int()
    .min(6_000)
    .max(300_000)
    .default(10_000)
    .describe(
      'Silence after which the partitions of a process go to others. Brokers take no less than 6 s by default.',
    ),
  tls: flag().default(false).describe('Whether connections to the brokers are encrypted.'),
  tlsCaFile: path.describe("File of the authorities that sign the brokers' certificates, instead of the system's."),
  tlsCertFile: path.describe('File of the client certificate, where brokers ask for one.'),
  tlsKeyFile: path.describe('File of the key of the client certificate.'),
  saslMechanism: z.enum(['plain', 'scram-sha-256', 'scram-sha-512']).optional().describe('How the client signs in.'),
  saslUsername: name.describe('The user that signs in.'),
  saslPassword: secret().optional().describe('The password of that user.'),
});

/** How Redis is reached. */
export const redisConfig = defineConfig('REDIS', {
  url: z
    .string(missing)
    .regex(/^rediss?:\/\/\S+$/, { error: 'must begin with redis:// or rediss:// (TLS)' })
    .describe('Address of Redis, with the number of the database where it is not 0; rediss:// for TLS.'),
  username: name.describe('The user that signs in; the default user when absent.'),
  password: secret().optional().describe('The password, where it is not part of the address.'),
  tlsCaFile: path.describe("File of the authorities that sign Redis's certificate, instead of the system's."),
});

/** How the schema registry is reached. */
export const schemaRegistryConfig = defineConfig('SCHEMA_REGISTRY', {
  url: z
    .string(missing)
    .regex(/^https?:\/\/\S+$/, { error: 'must begin with http:// or https://' })
    .describe('Address of the registry, up to the path of its Confluent API.'),
  username: name.describe('The user that signs in.'),
  password: secret().optional().describe('The password of that user.'),
});

/** What a deployment fixes for all of its processes. */
export const deploymentConfig = defineConfig('SIGNALBOX', {
  partitions: z.coerce
    .number()
    .int()
    .min(1)
    .max(1_000)
    .default(12)
    .describe('Partitions of each topic. Fixed once the topics exist.'),
  replicas: z.coerce
    .number()
    .int()
    .min(1)
    .max(7)
    .default(1)
    .describe('Brokers that hold each record; 3 in production.'),
  secretKeys: KeyRing.optional().describe(
    'Keys that seal the secrets of connections, the newest first: name:base64 of 32 bytes, parted by commas.',
  ),
  logLevel: LogLevel.default('info').describe('What is logged.'),
  probeHost: z.string().min(1).max(255).default('127.0.0.1').describe('Where /livez, /readyz and /metrics listen.'),
  probePort: z.coerce.number().int().min(0).max(65_535).default(0).describe('Their port; 0 takes a free one.'),
});

type SettingsOf<D> = D extends { readonly schema: z.ZodType<infer S> } ? S : never;

/** How Kafka is reached. */
export type KafkaSettings = SettingsOf<typeof kafkaConfig>;
/** The same, as far as a client insists on it. */
export type KafkaClientSettings = Omit<KafkaSettings, 'sessionTimeoutMs'> &
  Partial<Pick<KafkaSettings, 'sessionTimeoutMs'>>;
/** How Redis is reached. */
export type RedisSettings = SettingsOf<typeof redisConfig>;
/** How the schema registry is reached. */
export type SchemaRegistrySettings = SettingsOf<typeof schemaRegistryConfig>;
/** What a deployment fixes for all of its processes. */
export type DeploymentSettings = SettingsOf<typeof deploymentConfig>;

/** How the three are reached. */
export interface ConnectionSettings {
  readonly kafka: KafkaSettings;
  readonly redis: RedisSettings;
  readonly schemaRegistry: SchemaRegistrySettings;
}

/** An environment as a process gets it. */
export type Environment = Readonly<Record<string, string | undefined>>;

// Kubernetes names every service of a namespace to each container, and Kafka's own scripts have theirs: neither is ours.
const foreign =
  /^(KAFKA|REDIS|SCHEMA_REGISTRY|SIGNALBOX)(_[A-Z0-9_]+)?_(SERVICE_HOST|SERVICE_PORT|PORT)(_[A-Z0-9_]+)?$|^(KAFKA|REDIS|SCHEMA_REGISTRY)_PORT$|^KAFKA_(HOME|OPTS|HEAP_OPTS|JMX_OPTS|JVM_PERFORMANCE_OPTS|LOG4J_OPTS|GC_LOG_OPTS|CLUSTER_ID|VERSION)$|^SCHEMA_REGISTRY_OPTS$/;

/** The environment without the names that others put under our prefixes. */
export function withoutForeignNames(environment: Environment): Environment {
  return Object.fromEntries(
    Object.entries(environment).filter(([key]) => key === 'SIGNALBOX_PROBE_PORT' || !foreign.test(key)),
  );
}

/** Reads how the three are reached; throws `setting-invalid`. */
export function readConnectionSettings(environment: Environment): ConnectionSettings {
  const declared = [kafkaConfig, redisConfig, schemaRegistryConfig] as const;
  const [kafka, redis, schemaRegistry] = readConfig(declared, withoutForeignNames(environment));
  const signedIn = kafka.saslUsername !== undefined && kafka.saslPassword !== undefined;
  if (kafka.saslMechanism !== undefined && !signedIn) {
    throw new BusError('setting-invalid', {
      problems: ['KAFKA_SASL_MECHANISM: needs KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD'],
    });
  }
  return { kafka, redis, schemaRegistry };
}

/** Reads what a deployment fixes; throws `setting-invalid`. */
export const readDeploymentSettings = (environment: Environment): DeploymentSettings =>
  readConfig([deploymentConfig] as const, withoutForeignNames(environment))[0];
