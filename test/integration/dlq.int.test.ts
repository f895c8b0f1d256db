import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, inject, test, vi } from 'vitest';
import { z } from 'zod';
import { topics } from '../../schemas/index.ts';
import { RawProviderFact, rawProviderFacts } from '../../schemas/raw-provider-fact.ts';
import { partitionOf } from '../../shared/partition.ts';
import type { Bus } from '../../shared/runtime/bus.ts';
import { systemClock } from '../../shared/runtime/clock.ts';
import { type Codec, createCodec } from '../../shared/runtime/codec.ts';
import { createKafkaBus } from '../../shared/runtime/kafka.ts';
import { silentLog } from '../../shared/runtime/log.ts';
import { createPublisher, type Publisher } from '../../shared/runtime/publisher.ts';
import { createSchemaRegistry } from '../../shared/runtime/registry.ts';
import { groupOf } from '../../shared/runtime/run-stage.ts';
import { createSender } from '../../shared/runtime/sender.ts';
import { settingsOf, signalbox, signalboxJson, start } from './signalbox.ts';

const infrastructure = inject('infrastructure');
const settings = {
  ...settingsOf(infrastructure),
  SIGNALBOX_SECRET_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
  SIGNALBOX_PROBE_PORT: '0',
  HOOK: 'secret',
};
const connection = `dlq-${randomUUID()}`;
const agent = `agent-${randomUUID()}`;
const channel = `github:octo/dlq-${randomUUID()}#1`;
const fixture: { readonly body: unknown } = JSON.parse(
  readFileSync(new URL('../../shared/providers/github/fixtures/issue_comment_created.json', import.meta.url), 'utf8'),
);
const pipeline = ['normalizer', 'filter', 'mirror-projector', 'decision-journal'] as const;
const patience = { timeout: 60_000, interval: 250 };
const Listed = z.object({
  letters: z.array(z.object({ position: z.string(), rootId: z.string(), redrivenAt: z.number().optional() })),
});

let bus: Bus;
let codec: Codec;
let publisher: Publisher;
beforeAll(async () => {
  await signalboxJson(settings, 'migrate');
  const kafka = { brokers: infrastructure.kafkaBrokers.split(','), clientId: 'dlq-test', tls: false };
  bus = await createKafkaBus(kafka, silentLog);
  codec = await createCodec({
    registry: createSchemaRegistry({ url: infrastructure.schemaRegistryUrl }),
    writes: topics,
  });
  const limits = { maxRequestBytes: () => 900_000, retryMs: 100, inFlight: 1 } as const;
  publisher = createPublisher({ bus, codec, sender: createSender({ bus, clock: systemClock, limits }) });
});
afterAll(() => bus.close());

const fact = (id: string): RawProviderFact =>
  RawProviderFact.parse({
    id,
    provider: 'github',
    connectionId: connection,
    kind: 'events',
    eventId: id,
    event: 'issue_comment',
    signalChannelId: channel,
    receivedAt: Date.now(),
    body: JSON.stringify(fixture.body),
    bodyEncoding: 'utf-8',
  });
const letters = async () => Listed.parse(await signalboxJson(settings, 'dlq', 'list', '--key', channel)).letters;

test('what was rejected is listed, redriven once the cause is mended, and ends as it would have', async () => {
  const root = randomUUID();
  await publisher.publish(rawProviderFacts, fact(root));
  const running = start(['run', ...pipeline], { settings });
  try {
    const [letter] = await vi.waitFor(async () => {
      const found = await letters();
      expect(found).toMatchObject([{ rootId: root }]);
      return found;
    }, patience);
    const position = letter?.position ?? '';
    await signalboxJson(
      settings,
      ...['connections', 'put', connection, '--provider', 'github', '--secret', 'webhookSecret=env:HOOK'],
    );
    await signalboxJson(settings, 'bindings', 'put', agent, 'desk', '--connection', connection);
    // Redriven again where the services had not read what was just written.
    const redriven = await vi.waitFor(async () => {
      const { code, out, err } = await signalbox(settings, 'dlq', 'redrive', position, '--again', '--yes');
      expect([code, err, out]).toEqual([0, '', expect.stringContaining('Redrove 1 dead letter.')]);
      const shown = await signalbox(settings, 'dlq', 'show', position);
      expect(shown.out).toContain(`accepted for ${agent}/desk`);
      return shown.out;
    }, patience);
    expect(redriven).toMatch(/redriven .* as raw-provider-facts\/\d+\/\d+/);
    expect(await letters()).toMatchObject([{ position, redrivenAt: expect.any(Number) }]);
    const told = await signalbox(settings, 'why', root);
    expect(told.out).toMatch(/✗ dead_letter +connection-unknown/);
    expect(told.out).toMatch(new RegExp(`✔ accepted +for ${agent}/desk`));
  } finally {
    running.child.kill('SIGTERM');
    await running.ended;
  }
});

test('a stage that would reject all that comes stops before it does, says why and ends with 1', async () => {
  const count = (await bus.offsets(rawProviderFacts.name))?.length ?? 0;
  const partition = partitionOf(channel, count);
  const end = async () => (await bus.offsets(rawProviderFacts.name))?.[partition]?.end ?? 0n;
  const before = await end();
  const frame = codec.encode(rawProviderFacts, fact(randomUUID()));
  // The id of a schema that no registry of ours has: as if the stage had been pointed at another one.
  frame.writeInt32BE(2_000_000_000, 1);
  const record = { topic: rawProviderFacts.name, partition, key: Buffer.from(channel), value: frame };
  await bus.produce(Array.from({ length: 8 }, () => record));
  const known = (await letters()).length;

  const limited = { ...settings, RUNTIME_REJECTS_IN_A_ROW: '5', RUNTIME_BREAKER_SHOWN_MS: '0' };
  for (const _ of ['first', 'again']) {
    const { code, err } = await start(['run', 'normalizer'], { settings: limited }).ended;
    expect(code).toBe(1);
    expect(err).toContain('too-many-rejects');
    expect(err).toContain(`${rawProviderFacts.name}/${partition}/${before + 4n}`);
    expect(err).toContain('RUNTIME_REJECTS_IN_A_ROW=0');
    expect(await letters()).toHaveLength(known);
  }

  const patient = start(['run', 'normalizer'], { settings: { ...limited, RUNTIME_REJECTS_IN_A_ROW: '0' } });
  try {
    await vi.waitFor(async () => expect(await letters()).toHaveLength(known + 8), patience);
    await vi.waitFor(async () => {
      const committed = await bus.committed(groupOf('normalizer'), rawProviderFacts.name);
      expect(committed[partition]).toBe(await end());
    }, patience);
  } finally {
    patient.child.kill('SIGTERM');
    await patient.ended;
  }
});
