import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, inject, test, vi } from 'vitest';
import { z } from 'zod';
import { topics } from '../../schemas/index.ts';
import { RawProviderFact, rawProviderFacts } from '../../schemas/raw-provider-fact.ts';
import { stages } from '../../services/index.ts';
import type { Bus } from '../../shared/runtime/bus.ts';
import { systemClock } from '../../shared/runtime/clock.ts';
import { createCodec } from '../../shared/runtime/codec.ts';
import { createKafkaBus } from '../../shared/runtime/kafka.ts';
import { silentLog } from '../../shared/runtime/log.ts';
import { performCall } from '../../shared/runtime/perform-call.ts';
import { createPublisher, type Publisher } from '../../shared/runtime/publisher.ts';
import { createRedisStore } from '../../shared/runtime/redis.ts';
import { createSchemaRegistry } from '../../shared/runtime/registry.ts';
import { type RunningStage, runStage } from '../../shared/runtime/run-stage.ts';
import { config as runtimeConfig } from '../../shared/runtime/runtime-settings.ts';
import { createSender } from '../../shared/runtime/sender.ts';
import { settingsOf, signalbox, signalboxJson } from './signalbox.ts';

const infrastructure = inject('infrastructure');
const settings = {
  ...settingsOf(infrastructure),
  SIGNALBOX_SECRET_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
  HOOK: 'secret',
};
const connection = `why-${randomUUID()}`;
const agent = `agent-${randomUUID()}`;
const fixture: { readonly body: unknown } = JSON.parse(
  readFileSync(new URL('../../shared/providers/github/fixtures/issue_comment_created.json', import.meta.url), 'utf8'),
);
const channel = 'github:Codertocat/Hello-World#1';
const closing: (() => Promise<void>)[] = [];
let bus: Bus;
let publisher: Publisher;

const open = async () => {
  const opened = await createKafkaBus(
    { brokers: infrastructure.kafkaBrokers.split(','), clientId: 'why-test', tls: false },
    silentLog,
  );
  closing.push(opened.close);
  const sender = createSender({
    bus: opened,
    clock: systemClock,
    limits: { maxRequestBytes: () => 900_000, retryMs: 100, inFlight: 1 },
  });
  return { bus: opened, sender };
};
const registry = createSchemaRegistry({ url: infrastructure.schemaRegistryUrl });

async function run(name: string): Promise<RunningStage> {
  const stage = stages.get(name);
  if (stage === undefined) throw new RangeError(`no stage ${name}`);
  const store = await createRedisStore({ url: infrastructure.redisUrl }, silentLog);
  closing.push(store.close);
  return runStage({
    stage,
    settings: stage.config.schema.parse({}),
    ...(await open()),
    store,
    codec: await createCodec({ registry, writes: topics }),
    clock: systemClock,
    runtime: runtimeConfig.schema.parse({ commitMs: 200 }),
    perform: performCall,
    log: silentLog,
    observer: { folded: () => undefined, batch: () => undefined, reopened: () => undefined },
  });
}

beforeAll(async () => {
  await signalboxJson(settings, 'migrate');
  await signalboxJson(
    settings,
    ...['connections', 'put', connection, '--provider', 'github', '--secret', 'webhookSecret=env:HOOK'],
  );
  await signalboxJson(settings, 'bindings', 'put', agent, 'desk', '--connection', connection);
  await signalboxJson(settings, 'bindings', 'put', agent, 'none', '--connection', connection, '--filter', 'false');
  const opened = await open();
  bus = opened.bus;
  publisher = createPublisher({ ...opened, codec: await createCodec({ registry, writes: topics }) });
});
afterAll(async () => {
  for (const close of closing.reverse()) await close();
});

const receive = async (id: string, eventId: string): Promise<void> => {
  const fact = RawProviderFact.parse({
    id,
    provider: 'github',
    connectionId: connection,
    kind: 'events',
    eventId,
    event: 'issue_comment',
    signalChannelId: channel,
    receivedAt: Date.now(),
    body: JSON.stringify(fixture.body),
    bodyEncoding: 'utf-8',
  });
  await publisher.publish(rawProviderFacts, fact);
};

const Journeys = z.object({ journeys: z.array(z.object({ rootId: z.string() })) });
const patience = { timeout: 60_000, interval: 250 };

test('a fact is followed through the real log, from before any stage runs to the actor event', async () => {
  const [root, event] = [randomUUID(), randomUUID()];
  await receive(root, event);
  const waiting = await signalbox(settings, 'why', event);
  expect(waiting.out).toMatch(/waiting for normalizer: group lag \d+/);
  expect(waiting.out).toContain(root);

  const running = await Promise.all([...stages.keys()].map(run));
  try {
    const told = await vi.waitFor(async () => {
      const { out } = await signalbox(settings, 'why', root);
      expect(out).toContain('actor-events/');
      expect(out).toContain('filtered');
      return out;
    }, patience);
    expect(told).toMatch(/\+0 ms {2}[\d:.]{12} {2}raw-provider-facts\/\d+\/\d+\n/);
    expect(told).toMatch(/normalizer → normalized-facts\/\d+\/\d+\n/);
    expect(told).toMatch(new RegExp(`filter → accepted-facts/\\d+/\\d+ +for ${agent}/desk`));
    expect(told).toMatch(new RegExp(`filter: ○ filtered +for ${agent}/none`));
    expect(told).toMatch(new RegExp(`✔ accepted +for ${agent}/desk +event ${event}`));
    expect(told).not.toContain('Spelling');

    const again = randomUUID();
    await receive(again, event);
    await vi.waitFor(async () => {
      const value = await signalboxJson(settings, 'why', event);
      expect(Journeys.parse(value).journeys.map(({ rootId }) => rootId)).toEqual([root, again]);
    }, patience);
    await vi.waitFor(
      async () => expect((await signalbox(settings, 'why', again)).out).toContain('duplicate'),
      patience,
    );
  } finally {
    await Promise.all(running.map((stage) => stage.stop()));
  }
});

test('bytes that are no record are told by their position, with the code of their dead letter', async () => {
  const topic = rawProviderFacts.name;
  const end = (await bus.offsets(topic))?.[0]?.end ?? 0n;
  await bus.produce([{ topic, partition: 0, key: Buffer.from('k'), value: Buffer.from('{}') }]);
  const running = await Promise.all(['normalizer', 'decision-journal'].map(run));
  try {
    await vi.waitFor(async () => {
      const { out } = await signalbox(settings, 'why', `${topic}/0/${end}`);
      expect(out).toMatch(/✗ dead_letter +frame-invalid/);
      expect(out).toMatch(/normalizer → dead-letters\/\d+\/\d+ +frame-invalid +bytes: 2/);
    }, patience);
  } finally {
    await Promise.all(running.map((stage) => stage.stop()));
  }
});

test('an id that nobody knows ends with 1', async () => {
  const { code, out, err } = await signalbox(settings, 'why', randomUUID());
  expect([code, out]).toEqual([1, '']);
  expect(err).toContain('journey-not-found');
});
