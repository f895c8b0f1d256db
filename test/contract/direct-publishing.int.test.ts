import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { accessSync, constants, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { rawProviderFacts } from '../../schemas/raw-provider-fact.ts';
import { partitionOf } from '../../shared/partition.ts';
import type { Bus } from '../../shared/runtime/bus.ts';
import { createCodec } from '../../shared/runtime/codec.ts';
import { createKafkaBus } from '../../shared/runtime/kafka.ts';
import { silentLog } from '../../shared/runtime/log.ts';
import { createSchemaRegistry } from '../../shared/runtime/registry.ts';
import { settingsOf, signalboxJson } from '../integration/signalbox.ts';
import { root } from './sources.ts';

const run = promisify(execFile);
const infrastructure = inject('infrastructure');
const settings = settingsOf(infrastructure);
const example = (name: string): string => fileURLToPath(new URL(`docs/examples/${name}`, root));

const isThere = (program: string): boolean =>
  (process.env.PATH ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });

let bus: Bus;
beforeAll(async () => {
  await signalboxJson(settings, 'migrate');
  const brokers = infrastructure.kafkaBrokers.split(',');
  bus = await createKafkaBus({ brokers, clientId: 'direct-publishing', tls: false }, silentLog);
});
afterAll(() => bus.close());

test.skipIf(!['kcat', 'curl', 'jq'].every(isThere))(
  'what the kcat example publishes is a fact of the topic',
  async () => {
    const eventId = `event-${randomUUID()}`;
    const { length: partitions } = (await bus.offsets(rawProviderFacts.name)) ?? [];
    const partition = partitionOf(eventId, partitions);
    const [before] = (await bus.offsets(rawProviderFacts.name))?.slice(partition) ?? [];

    await run(example('publish.sh'), ['github', 'octo', 'issue_comment', eventId, example('comment.json')], {
      env: { ...process.env, ...settings },
    });

    const [record] = await bus.read({
      topic: rawProviderFacts.name,
      partition,
      offset: before?.end ?? 0n,
      limit: 1,
    });
    const registry = createSchemaRegistry({ url: infrastructure.schemaRegistryUrl });
    const codec = await createCodec({ registry, writes: [] });
    expect(record?.key?.toString('utf8')).toBe(eventId);
    expect(await codec.decode(rawProviderFacts, record?.value ?? null)).toEqual({
      type: 'value',
      value: {
        provider: 'github',
        connectionId: 'octo',
        kind: 'direct',
        event: 'issue_comment',
        eventId,
        receivedAt: expect.any(Number),
        body: readFileSync(example('comment.json'), 'utf8'),
        bodyEncoding: 'utf-8',
      },
    });
  },
);
