import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { Kafka, logLevel } from 'kafkajs';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { registryAnswers } from './answers.ts';
import { startInfrastructure } from './infrastructure.ts';
import { startNative } from './native/native.ts';

const quiet = () => undefined;
let dir = '';
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'signalbox-ways-'));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

const given = {
  KAFKA_BROKERS: '127.0.0.1:1',
  REDIS_URL: 'redis://127.0.0.1:2',
  SCHEMA_REGISTRY_URL: 'http://127.0.0.1:3',
};

test('the addresses of this run answer', async () => {
  const { kafkaBrokers, redisUrl, schemaRegistryUrl } = inject('infrastructure');
  const redis = new Redis(redisUrl);
  expect(await redis.ping()).toBe('PONG');
  redis.disconnect();
  expect(await registryAnswers(schemaRegistryUrl)).toBe(true);
  const admin = new Kafka({
    clientId: 'harness',
    brokers: kafkaBrokers.split(','),
    logLevel: logLevel.NOTHING,
  }).admin();
  await admin.connect();
  expect((await admin.describeCluster()).brokers.length).toBeGreaterThan(0);
  await admin.disconnect();
});

test('given addresses are used as they are, and nothing is started', async () => {
  const lines: string[] = [];
  const options = { dir, keepData: false, environment: given, report: (line: string) => lines.push(line) };
  expect(await startInfrastructure(options)).toEqual({
    way: 'given',
    kafkaBrokers: '127.0.0.1:1',
    redisUrl: 'redis://127.0.0.1:2',
    schemaRegistryUrl: 'http://127.0.0.1:3',
    parts: {},
    stop: expect.any(Function),
  });
  expect(lines).toEqual(['Infrastructure: given by KAFKA_BROKERS, REDIS_URL and SCHEMA_REGISTRY_URL.']);
});

test('a part of the addresses is an error that names the others', async () => {
  const environment = { REDIS_URL: given.REDIS_URL, SCHEMA_REGISTRY_URL: '' };
  await expect(startInfrastructure({ dir, keepData: false, environment, report: quiet })).rejects.toMatchObject({
    code: 'setting-invalid',
    details: { problems: ['KAFKA_BROKERS: missing', 'SCHEMA_REGISTRY_URL: missing'] },
  });
});

test('missing programs are named together, with the command that installs them', async () => {
  await expect(startNative({ dir, keepData: false, environment: { PATH: dir }, report: quiet })).rejects.toMatchObject({
    code: 'tool-missing',
    details: {
      problems: ['Java: no `java` on the PATH', 'Redis: no `redis-server` on the PATH'],
      fix: expect.stringContaining('apt-get install -y default-jre-headless redis-server'),
    },
  });
});

test('a Java that is too old is named with its version', async () => {
  const java = join(dir, 'java');
  await writeFile(java, '#!/bin/sh\necho \'openjdk version "11.0.2" 2019-01-15\' >&2\n');
  await chmod(java, 0o755);
  const environment = { PATH: dir };
  await expect(
    startNative({ dir, keepData: false, need: ['kafka'], environment, report: quiet }),
  ).rejects.toMatchObject({
    code: 'tool-missing',
    details: { problems: [`Java: ${java} is version 11, at least 17 is needed`] },
  });
});
