import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, inject, test, vi } from 'vitest';
import { settingsOf, signalboxJson } from '../integration/signalbox.ts';
import { connectOutside, isSettled, type OutsideClient } from './kafka.ts';
import { runServices, type ServiceProcess, stop, untilReady } from './product.ts';
import { secretKeys } from './routes.ts';

const infrastructure = inject('infrastructure');
const run = `again-${randomUUID().slice(0, 8)}`;
const settings = {
  ...settingsOf(infrastructure),
  ...secretKeys,
  HOOK: Buffer.from(randomUUID()).toString('base64'),
};
const stages = ['normalizer', 'filter', 'mirror-projector', 'decision-journal'];
const patience = { timeout: 60_000, interval: 50 };
const events = ['one', 'two', 'three'];

const running = new Set<ServiceProcess>();
let client: OutsideClient;

beforeAll(async () => {
  await signalboxJson(settings, 'migrate');
  const secret = ['--provider', 'typed-facts', '--secret', 'webhookSecret=env:HOOK'];
  await signalboxJson(settings, 'connections', 'put', run, ...secret);
  await signalboxJson(settings, 'bindings', 'put', run, 'desk', '--connection', run);
  client = await connectOutside(infrastructure);
});
afterAll(async () => {
  for (const { child } of running) child.kill('SIGKILL');
  await client.close();
});

/** Runs the pipeline in one process more, under a name by which the group tells it from others. */
async function runPipeline(name: string): Promise<ServiceProcess> {
  const service = await runServices(stages, { ...settings, KAFKA_CLIENT_ID: name });
  running.add(service);
  void service.ended.then(() => running.delete(service));
  await untilReady(service);
  return service;
}

/** Tells each event once more, each in a channel of its own, and answers how their ways ended. */
async function tell(): Promise<readonly string[]> {
  const receipt = randomUUID();
  const records = events.map((name) => {
    const fact = {
      type: 'entry_received',
      sourceEventId: `${run}-${name}`,
      signalChannelId: name,
      sourceEntryId: 'e-1',
      actorEventType: 'ticket.opened',
      text: name,
    };
    const raw = {
      id: `${receipt}-${name}`,
      provider: 'typed-facts',
      connectionId: run,
      kind: 'direct',
      eventId: fact.sourceEventId,
      event: fact.type,
      receivedAt: Date.now(),
      bodyEncoding: 'utf-8',
      body: JSON.stringify(fact),
    };
    return { key: `typed-facts:${run}:${name}`, fact: raw };
  });
  await client.publish('raw-provider-facts', records);
  await vi.waitUntil(() => isSettled(client), patience);
  const told = await Promise.all(events.map((name) => signalboxJson(settings, 'why', `${receipt}-${name}`)));
  return told.map((journey) => /"status":"(\w+)"/.exec(JSON.stringify(journey))?.[1] ?? 'no end');
}

test('a provider event that is told again within a week is a duplicate: at once, and after a restart, a rebalance and a rebuild', async () => {
  const before = await client.held('actor-events');
  const first = await runPipeline('first');
  expect(await tell()).toStrictEqual(events.map(() => 'accepted'));
  const again = events.map(() => 'duplicate');
  expect(await tell()).toStrictEqual(again);

  expect(await stop(first)).toMatchObject({ code: 0 });
  const second = await runPipeline('second');
  expect(await tell()).toStrictEqual(again);

  const third = await runPipeline('third');
  await vi.waitUntil(async () => (await client.owners('mirror-projector'))?.size === 2, patience);
  expect(await tell()).toStrictEqual(again);

  await signalboxJson(settings, 'rebuild', 'mirror-projector');
  expect(await tell()).toStrictEqual(again);
  expect(await client.held('actor-events')).toBe(before + events.length);
  for (const service of [second, third]) expect(await stop(service)).toMatchObject({ code: 0 });
});
