import { createHmac, randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { afterAll, beforeAll, expect, inject, test, vi } from 'vitest';
import { z } from 'zod';
import { settingsOf, signalboxJson } from '../integration/signalbox.ts';
import type { Decision } from './checker/contract.ts';
import { readLog } from './checker/log.ts';
import { connectOutside, isSettled, type OutsideClient } from './kafka.ts';
import { everyService, runServices, type ServiceProcess, stop, untilReady } from './product.ts';

const Examples = z.array(z.object({ name: z.string(), examples: z.array(z.record(z.string(), z.unknown())) }));
const examples = Examples.parse(createRequire(import.meta.url)('@octokit/webhooks-examples')).flatMap((event) =>
  event.examples.map((body) => ({ event: event.name, body: JSON.stringify(body) })),
);
const infrastructure = inject('infrastructure');
const run = `octokit-${randomUUID().slice(0, 8)}`;
const webhookSecret = randomUUID();
const settings = {
  ...settingsOf(infrastructure),
  SIGNALBOX_SECRET_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
  HOOK: webhookSecret,
};
const bindings = ['everything', 'reviews'];

let services: ServiceProcess;
let client: OutsideClient;

beforeAll(async () => {
  await signalboxJson(settings, 'migrate');
  const secret = ['--provider', 'github', '--secret', 'webhookSecret=env:HOOK'];
  await signalboxJson(settings, 'connections', 'put', run, ...secret);
  const pullRequests = "signal.channel.metadata.githubKind == 'pull_request'";
  await Promise.all([
    signalboxJson(settings, 'bindings', 'put', run, 'everything', '--connection', run),
    signalboxJson(settings, 'bindings', 'put', run, 'reviews', '--connection', run, '--filter', pullRequests),
  ]);
  services = await runServices(everyService, settings);
  client = await connectOutside(infrastructure);
  await untilReady(services);
});
afterAll(async () => {
  await client.close();
  expect(await stop(services)).toMatchObject({ code: 0 });
});

/** Sends an example as GitHub does; answers the id of its raw fact, none for a handshake. */
async function send({ event, body }: (typeof examples)[number]): Promise<string | undefined> {
  const response = await fetch(`${services.ingressUrl}/webhooks/v1/github/${run}/events`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-github-event': event,
      'x-github-delivery': randomUUID(),
      'x-hub-signature-256': `sha256=${createHmac('sha256', webhookSecret).update(body).digest('hex')}`,
    },
    body,
  });
  const text = await response.text();
  expect([event, response.status]).toEqual([event, 200]);
  return text === '' ? undefined : z.object({ id: z.string() }).parse(JSON.parse(text)).id;
}

test('every example that GitHub publishes ends in one named outcome on each route', async () => {
  expect(examples).toHaveLength(329);
  const startedAt = performance.now();
  // One after another, as one account of a provider does: an entry's events stay in order.
  const ids: (string | undefined)[] = [];
  for (const example of examples) ids.push(await send(example));
  await vi.waitUntil(() => isSettled(client), { timeout: 60_000, interval: 100 });
  const tookMs = performance.now() - startedAt;

  const log = await readLog(infrastructure.kafkaBrokers.split(','), [
    'raw-provider-facts',
    'decisions',
    'dead-letters',
  ]);
  const facts = (log.get('raw-provider-facts') ?? []).flatMap(({ value }) => {
    // The contract of the topic; other tests have written what is no fact.
    const fact = value as { readonly id?: string; readonly connectionId?: string } | undefined;
    return fact?.connectionId === run ? [fact.id] : [];
  });
  const published = ids.filter((id) => id !== undefined);
  expect(facts.toSorted()).toEqual(published.toSorted());

  const decided = (log.get('decisions') ?? [])
    .map(({ value }) => value as Decision)
    .filter(({ about }) => about.connectionId === run);
  const routesOf = (id: string | undefined) =>
    decided.filter(({ rootId }) => rootId === id).map(({ stage, about }) => about.bindingName ?? stage);
  const ends = published.map((id) => routesOf(id).toSorted().join());
  const [ignored, routed] = [ends.filter((end) => end === 'normalizer'), ends.filter((end) => end !== 'normalizer')];
  expect(routed).toEqual(routed.map(() => bindings.join()));

  const handshakes = examples.length - published.length;
  expect(handshakes).toBe(examples.filter(({ event }) => event === 'ping').length);
  expect(decided).toHaveLength(handshakes + ignored.length + routed.length * bindings.length);

  const counts: Record<string, number> = {};
  for (const { status, about } of decided) {
    const name = about.bindingName === undefined ? status : `${status} for ${about.bindingName}`;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  process.stderr.write(
    `  ${examples.length} examples in ${(tookMs / 1_000).toFixed(1)} s: ${JSON.stringify(counts)}\n`,
  );
  expect(ignored).toHaveLength(295 - handshakes);
  expect(counts).not.toHaveProperty('dead_letter');
  const letters = (log.get('dead-letters') ?? []).filter(({ rootId }) => published.includes(rootId ?? ''));
  expect(letters).toEqual([]);
});
