import { expect, test } from 'vitest';
import { BusError } from '../errors.ts';
import { readConnectionSettings, readDeploymentSettings } from './connection-settings.ts';

const addresses = {
  KAFKA_BROKERS: 'one:9092, [::1]:9093',
  REDIS_URL: 'redis://localhost:6379/2',
  SCHEMA_REGISTRY_URL: 'http://localhost:8080/apis/ccompat/v7',
};

const problemsOf = (read: () => unknown): unknown => {
  try {
    return read();
  } catch (error) {
    if (error instanceof BusError) return [error.code, error.details];
    throw error;
  }
};

test('addresses alone are enough', () => {
  expect(readConnectionSettings(addresses)).toEqual({
    kafka: { brokers: ['one:9092', '[::1]:9093'], clientId: 'signalbox', sessionTimeoutMs: 10_000, tls: false },
    redis: { url: 'redis://localhost:6379/2' },
    schemaRegistry: { url: 'http://localhost:8080/apis/ccompat/v7' },
  });
});

test('a missing address says how to get one', () => {
  expect(problemsOf(() => readConnectionSettings({ ...addresses, REDIS_URL: undefined }))).toEqual([
    'setting-invalid',
    { problems: ['REDIS_URL: is missing; `signalbox dev` starts the infrastructure and writes it to .signalbox/env'] },
  ]);
});

test('a misspelt name stops the start', () => {
  expect(problemsOf(() => readConnectionSettings({ ...addresses, KAFKA_SASL_USER: 'me' }))).toEqual([
    'setting-invalid',
    { problems: ['KAFKA_SASL_USER: no such setting'] },
  ]);
});

test('names that Kubernetes and the scripts of Kafka set are passed over', () => {
  const foreign = {
    KAFKA_PORT: 'tcp://10.0.0.1:9092',
    KAFKA_PORT_9092_TCP_ADDR: '10.0.0.1',
    KAFKA_SERVICE_HOST: '10.0.0.1',
    KAFKA_HEAP_OPTS: '-Xmx1g',
    REDIS_MASTER_SERVICE_PORT_REDIS: '6379',
    SIGNALBOX_INGRESS_PORT_8080_TCP: 'tcp://10.0.0.2:8080',
    SIGNALBOX_PROBE_PORT: '9464',
  };
  expect(readConnectionSettings({ ...addresses, ...foreign }).kafka.brokers).toEqual(['one:9092', '[::1]:9093']);
  expect(readDeploymentSettings(foreign)).toEqual({
    partitions: 12,
    replicas: 1,
    logLevel: 'info',
    probeHost: '127.0.0.1',
    probePort: 9464,
  });
});

test('a mechanism without a user is refused', () => {
  expect(problemsOf(() => readConnectionSettings({ ...addresses, KAFKA_SASL_MECHANISM: 'plain' }))).toEqual([
    'setting-invalid',
    { problems: ['KAFKA_SASL_MECHANISM: needs KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD'] },
  ]);
});
