import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { Kafka, logLevel } from 'kafkajs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BusError } from '../../../shared/errors.ts';
import type { Infrastructure, PartName } from '../parts.ts';
import { startNative } from './native.ts';

describe('the native way', () => {
  let dir = '';
  let infrastructure: Infrastructure;
  const lines: string[] = [];
  const start = () => startNative({ dir, keepData: true, report: (line) => lines.push(line) });

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'signalbox-native-'));
    infrastructure = await start();
  });

  afterAll(async () => {
    await infrastructure?.stop();
    await rm(dir, { recursive: true, force: true });
  });

  test('starts three parts that do work for a client, and says where they are', async () => {
    await writeEverywhere(infrastructure);
    expect(await readEverywhere(infrastructure)).toEqual(written);
    expect(lines.filter((line) => line.includes(': ready at ')).map((line) => line.trim().split(':')[0])).toEqual(
      expect.arrayContaining(['Kafka', 'Redis', 'Schema registry']),
    );
  });

  test('refuses a second owner of the same folder and leaves the first one running', async () => {
    await expect(start()).rejects.toMatchObject({
      code: 'start-failed',
      details: { owner: process.pid, fix: expect.stringContaining('use another folder') },
    });
    expect(await readEverywhere(infrastructure)).toEqual(written);
  });

  test.each(['kafka', 'redis', 'registry'] as const)(
    'brings a killed %s back on its port with its data',
    async (part) => {
      await infrastructure.parts[part]?.kill();
      await expect(readOne(infrastructure, part)).rejects.toThrow();
      await infrastructure.parts[part]?.restart();
      expect(await readEverywhere(infrastructure)).toEqual(written);
    },
  );

  test('finds its data and its ports again at the next start', async () => {
    const { kafkaBrokers, redisUrl, schemaRegistryUrl } = infrastructure;
    await infrastructure.stop();
    infrastructure = await start();
    expect(infrastructure).toMatchObject({ way: 'native', kafkaBrokers, redisUrl, schemaRegistryUrl });
    expect(await readEverywhere(infrastructure)).toEqual(written);
  });

  test('names the port that somebody else has', async () => {
    const taken = Number(new URL(infrastructure.redisUrl).port);
    const elsewhere = await mkdtemp(join(tmpdir(), 'signalbox-taken-'));
    const error = await startNative({
      dir: elsewhere,
      keepData: false,
      need: ['redis'],
      ports: { redis: taken },
      report: () => undefined,
    }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(BusError);
    expect(error).toMatchObject({
      code: 'port-taken',
      details: { port: taken, fix: expect.stringContaining(`${taken}`) },
    });
    await rm(elsewhere, { recursive: true, force: true });
  });
});

const written = { kafka: 'kept', redis: 'kept', registry: ['kept-value'] } as const;
const json = { 'content-type': 'application/vnd.schemaregistry.v1+json' };
const schema = { schemaType: 'JSON', schema: JSON.stringify({ $schema: 'http://json-schema.org/draft-07/schema#' }) };

function client({ kafkaBrokers }: Infrastructure): Kafka {
  const retry = { retries: 2, initialRetryTime: 50 };
  return new Kafka({ clientId: 'harness', brokers: [kafkaBrokers], logLevel: logLevel.NOTHING, retry });
}

async function writeEverywhere(infrastructure: Infrastructure): Promise<void> {
  const kafka = client(infrastructure);
  const admin = kafka.admin();
  await admin.connect();
  await admin.createTopics({ topics: [{ topic: 'kept', numPartitions: 1 }], waitForLeaders: true });
  await admin.disconnect();
  const producer = kafka.producer();
  await producer.connect();
  await producer.send({ topic: 'kept', messages: [{ value: 'kept' }] });
  await producer.disconnect();

  const redis = new Redis(infrastructure.redisUrl);
  await redis.set('kept', 'kept');
  redis.disconnect();

  const url = `${infrastructure.schemaRegistryUrl}/subjects/kept-value/versions`;
  const answer = await fetch(url, { method: 'POST', headers: json, body: JSON.stringify(schema) });
  expect(answer.status).toBe(200);
}

async function readEverywhere(infrastructure: Infrastructure) {
  const [kafka, redis, registry] = await Promise.all([
    readOne(infrastructure, 'kafka'),
    readOne(infrastructure, 'redis'),
    readOne(infrastructure, 'registry'),
  ]);
  return { kafka, redis, registry };
}

function readOne(infrastructure: Infrastructure, part: PartName): Promise<unknown> {
  switch (part) {
    case 'kafka':
      return readTopic(infrastructure);
    case 'redis':
      return readKey(infrastructure);
    case 'registry':
      return fetch(`${infrastructure.schemaRegistryUrl}/subjects`).then((answer) => answer.json());
  }
}

/** The last record of the topic, read by a new group from the beginning. */
async function readTopic(infrastructure: Infrastructure): Promise<string | undefined> {
  const consumer = client(infrastructure).consumer({ groupId: `reader-${Date.now()}` });
  await consumer.connect();
  await consumer.subscribe({ topics: ['kept'], fromBeginning: true });
  const value = await new Promise<string | undefined>((resolve, reject) => {
    consumer.run({ eachMessage: async ({ message }) => resolve(message.value?.toString()) }).catch(reject);
  });
  await consumer.disconnect();
  return value;
}

async function readKey({ redisUrl }: Infrastructure): Promise<string | null> {
  const redis = new Redis(redisUrl, { lazyConnect: true, retryStrategy: () => null });
  // The rejection of `connect` says the same.
  redis.on('error', () => undefined);
  try {
    await redis.connect();
    return await redis.get('kept');
  } finally {
    redis.disconnect();
  }
}
