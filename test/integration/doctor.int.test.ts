import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { ConfigResourceTypes, Kafka, logLevel } from 'kafkajs';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { Binding, bindings } from '../../schemas/binding.ts';
import { rawProviderFacts } from '../../schemas/raw-provider-fact.ts';
import { systemClock } from '../../shared/runtime/clock.ts';
import { createCodec } from '../../shared/runtime/codec.ts';
import { createKafkaBus } from '../../shared/runtime/kafka.ts';
import { silentLog } from '../../shared/runtime/log.ts';
import { createPublisher } from '../../shared/runtime/publisher.ts';
import { createSchemaRegistry } from '../../shared/runtime/registry.ts';
import { createSender } from '../../shared/runtime/sender.ts';
import { everyService, isReady, runServices, type ServiceProcess } from '../e2e/product.ts';
import { type Infrastructure, startInfrastructure } from '../harness/infrastructure.ts';
import { settingsOf, signalbox, signalboxJson } from './signalbox.ts';

// Everything here is broken on purpose, so nobody else may stand on it.
let own: Infrastructure;
let settings: Readonly<Record<string, string>>;
let product: ServiceProcess;
const stops: (() => Promise<unknown>)[] = [];

const keyOf = (name: string) => `${name}:${Buffer.alloc(32, 7).toString('base64')}`;
const patience = { timeout: 60_000, interval: 100 };

/** Runs a command that must succeed. */
async function done(...args: readonly string[]): Promise<void> {
  const { code, err } = await signalbox({ ...settings, HOOK: 'the secret itself' }, ...args);
  expect([args[0], code, err]).toEqual([args[0], 0, '']);
}

beforeAll(async () => {
  const { KAFKA_BROKERS: _, REDIS_URL: __, SCHEMA_REGISTRY_URL: ___, ...environment } = process.env;
  own = await startInfrastructure({
    dir: await mkdtemp(join(tmpdir(), 'signalbox-doctor-')),
    keepData: false,
    environment,
    report: () => undefined,
  });
  stops.push(own.stop);
  settings = { ...settingsOf(own), SIGNALBOX_PARTITIONS: '4', SIGNALBOX_SECRET_KEYS: keyOf('k1') };
  const secret = ['--secret', 'webhookSecret=env:HOOK'];
  await done('migrate');
  await done('connections', 'put', 'octo', '--provider', 'github', ...secret);
  await done('bindings', 'put', 'iris', 'desk', '--connection', 'octo', '--filter', 'true');
  // Frozen for a while, it stays a member.
  product = await runServices(everyService, { ...settings, KAFKA_SESSION_TIMEOUT_MS: '60000' });
  stops.push(async () => product.child.kill('SIGKILL'));
  await vi.waitFor(async () => expect(await isReady(product)).toBe(true), patience);
});
afterAll(async () => {
  for (const stop of stops.reverse()) await stop();
});

/** Writes to the log what no command would. */
async function openPublisher() {
  const brokers = own.kafkaBrokers.split(',');
  const bus = await createKafkaBus({ brokers, clientId: 'doctor-test', tls: false }, silentLog);
  const registry = createSchemaRegistry({ url: own.schemaRegistryUrl });
  const limits = { maxRequestBytes: () => 500_000, retryMs: 100, inFlight: 1 } as const;
  const publisher = createPublisher({
    bus,
    codec: await createCodec({ registry, writes: [bindings, rawProviderFacts] }),
    sender: createSender({ bus, clock: systemClock, limits }),
  });
  return { publisher, close: bus.close };
}

const Report = z.object({
  groups: z.array(
    z.object({
      checks: z.array(
        z.object({ name: z.string(), status: z.string(), details: z.array(z.string()), fix: z.string().optional() }),
      ),
    }),
  ),
});
/** The checks that are not well, by name. */
async function unwell(environment: Readonly<Record<string, string>>) {
  const { code, out } = await signalbox(environment, 'doctor', '--json');
  const { groups } = Report.parse(JSON.parse(out));
  const checks = groups.flatMap((group) => group.checks).filter(({ status }) => status !== 'ok');
  return { code, checks: new Map(checks.map(({ name, ...check }) => [name, check])) };
}

test('an installation that works is well in every line', async () => {
  const { code, out, err } = await signalbox(settings, 'doctor');
  expect([code, err, out.split('\n').filter((line) => /[▲✘→]/u.test(line))]).toEqual([0, '', []]);
  expect(out).toMatch(/✔ kafka +1 broker, 15 kinds of request understood\n/);
  expect(out).toMatch(/✔ filter +1 member, nothing waits\n/);
  expect(out.trimEnd()).toMatch(/\nAll is well\.$/);
});

test('the same installation shows in the metrics of its process', async () => {
  const text = await (await fetch(`${product.probeUrl}/metrics`)).text();
  const lines = text
    .split('\n')
    .filter((line) => /stage="filter"/.test(line) && /_(?:ready|partitions|rows|lag_records)\{/.test(line));
  expect(lines.toSorted()).toEqual([
    ...[0, 1, 2, 3].map((partition) => `signalbox_lag_records{stage="filter",partition="${partition}"} 0`),
    'signalbox_stage_partitions{stage="filter"} 4',
    'signalbox_stage_ready{stage="filter"} 1',
    ...['bindings', 'connections'].map((table) => `signalbox_table_rows{stage="filter",table="${table}"} 1`),
    'signalbox_table_rows{stage="filter",table="states"} 0',
  ]);
  const [, heartbeat] = /^signalbox_heartbeat_seconds\{stage="filter"\} (\S+)$/m.exec(text) ?? [];
  expect(Number(heartbeat)).toBeLessThan(10);
});

test('a stage that stands still while it counts as a member is told as stuck, and well again when it goes on', async () => {
  const { publisher, close } = await openPublisher();
  product.child.kill('SIGSTOP');
  await publisher.publish(rawProviderFacts, rawProviderFacts.example);
  await close();
  const { code, checks } = await unwell(settings);
  product.child.kill('SIGCONT');
  expect([code, [...checks.keys()], checks.get('normalizer')]).toEqual([
    1,
    ['normalizer'],
    {
      status: 'failed',
      details: [expect.stringMatching(/^partition \d: 1 record from offset 0 on$/)],
      fix: expect.stringContaining('docs/operating.md#a-stage-is-stuck'),
    },
  ]);
  await vi.waitFor(async () => expect((await unwell(settings)).code).toBe(0), { timeout: 60_000, interval: 500 });
});

test('what was broken is told, each with what to do', async () => {
  product.child.kill('SIGTERM');
  await product.ended;
  const { publisher, close } = await openPublisher();
  await publisher.publish(bindings, Binding.parse({ ...bindings.example, agentUid: 'nobody', connectionId: 'gone' }));
  await publisher.publish(rawProviderFacts, rawProviderFacts.example);
  await close();

  const admin = new Kafka({ brokers: own.kafkaBrokers.split(','), logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  await admin.deleteTopics({ topics: ['actor-events'] });
  await admin.createPartitions({ topicPartitions: [{ topic: 'decisions', count: 5 }] });
  await admin.alterConfigs({
    validateOnly: false,
    resources: [
      {
        type: ConfigResourceTypes.TOPIC,
        name: 'connections',
        configEntries: [{ name: 'cleanup.policy', value: 'delete' }],
      },
    ],
  });
  await admin.disconnect();
  await fetch(`${own.schemaRegistryUrl}/subjects/dead-letters-value`, { method: 'DELETE' });
  const redis = new Redis(own.redisUrl);
  await redis.config('SET', 'maxmemory-policy', 'allkeys-lru');
  await redis.quit();

  const { code, checks } = await unwell({ ...settings, SIGNALBOX_SECRET_KEYS: keyOf('k2') });
  expect([code, [...checks.keys()]]).toEqual([
    1,
    [
      ...['topics', 'topic settings', 'schemas', 'eviction', 'connections', 'bindings'],
      ...['normalizer', 'filter', 'mirror-projector', 'decision-journal'],
      'dead letters',
    ],
  ]);
  expect(checks.get('topics')).toEqual({
    status: 'failed',
    details: ['actor-events does not exist', 'decisions has 5 partitions, and SIGNALBOX_PARTITIONS is 4'],
    fix: 'Run `signalbox migrate`.\nSet SIGNALBOX_PARTITIONS to the number that exists; growing needs a rebuild.',
  });
  expect(checks.get('topic settings')).toMatchObject({
    status: 'failed',
    details: expect.arrayContaining(['connections: cleanup.policy is delete, declared is compact']),
    fix: expect.stringContaining('--entity-name connections --add-config cleanup.policy=compact'),
  });
  expect(checks.get('schemas')).toEqual({
    status: 'failed',
    details: ['dead-letters: not registered'],
    fix: 'Run `signalbox migrate`.',
  });
  expect(checks.get('eviction')).toMatchObject({
    status: 'failed',
    fix: 'Set `maxmemory-policy noeviction` and start again.',
  });
  expect(checks.get('connections')).toEqual({
    status: 'failed',
    details: ['octo: key-missing, sealed by k1'],
    fix: 'Add the key to SIGNALBOX_SECRET_KEYS.',
  });
  expect(checks.get('bindings')).toMatchObject({
    status: 'failed',
    details: ['nobody/desk: its connection gone does not exist'],
    fix: expect.stringContaining('`signalbox bindings delete nobody desk`'),
  });
  expect(checks.get('normalizer')).toMatchObject({ status: 'failed', fix: 'Start it: `signalbox run normalizer`.' });
  // The first raw fact was handled above: an example, whose body is no delivery of its provider.
  expect(checks.get('dead letters')).toMatchObject({
    status: 'warning',
    details: [expect.stringMatching(/^1 × normalizer [a-z-]+: /)],
  });
  expect(checks.get('filter')).toMatchObject({ status: 'warning', fix: 'Start it: `signalbox run filter`.' });
});

test('that a stage will stop, since records have left before it read them, is told before it starts', async () => {
  const topic = rawProviderFacts.name;
  const admin = new Kafka({ brokers: own.kafkaBrokers.split(','), logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  const ends = await admin.fetchTopicOffsets(topic);
  const filled = ends.filter(({ high }) => high !== '0').map(({ partition, high }) => ({ partition, offset: high }));
  await admin.deleteTopicRecords({ topic, partitions: filled });
  await admin.disconnect();
  expect((await unwell(settings)).checks.get('needed records')).toEqual({
    status: 'failed',
    details: [
      expect.stringMatching(
        /^normalizer, partition \d: needs raw-provider-facts from offset 1 on, which is kept from 2 on/,
      ),
    ],
    fix: expect.stringContaining('`signalbox rebuild <stage>`'),
  });
});

test('what is away is told, and the rest is looked at all the same', async () => {
  await own.parts.kafka?.kill();
  const { code, checks } = await unwell(settings);
  expect([code, checks.get('kafka')]).toEqual([
    1,
    {
      status: 'failed',
      details: expect.arrayContaining(['Kafka, Redis or the schema registry did not answer.', 'system: kafka']),
      fix: 'Check that they run and that the settings point at them.',
    },
  ]);
  expect([checks.has('eviction'), checks.has('bindings'), checks.has('filter')]).toEqual([true, false, false]);
  await expect(signalboxJson({ ...settings, SIGNALBOX_PARTITIONS: 'many' }, 'doctor')).rejects.toThrow(
    'setting-invalid',
  );
});
