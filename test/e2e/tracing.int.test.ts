import { createHmac, randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, inject, test, vi } from 'vitest';
import { topics } from '../../schemas/index.ts';
import { type ReceivedSpan, startCollector, type TestCollector } from '../../shared/testing/collector.ts';
import { settingsOf, signalboxJson } from '../integration/signalbox.ts';
import { type LogRecord, readLog } from './checker/log.ts';
import { connectOutside, isSettled, type OutsideClient } from './kafka.ts';
import { everyService, runServices, type ServiceProcess, stop, untilReady } from './product.ts';

const infrastructure = inject('infrastructure');
const run = `trace-${randomUUID().slice(0, 8)}`;
const webhookSecret = `swordfish-${randomUUID()}`;
const settings = {
  ...settingsOf(infrastructure),
  SIGNALBOX_SECRET_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
  HOOK: webhookSecret,
};
const patience = { timeout: 60_000, interval: 50 };
const theirs = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' };

let client: OutsideClient;
let collector: TestCollector;
let comments = 0;
const running: ServiceProcess[] = [];

beforeAll(async () => {
  await signalboxJson(settings, 'migrate');
  const secret = ['--provider', 'github', '--secret', 'webhookSecret=env:HOOK'];
  await signalboxJson(settings, 'connections', 'put', run, ...secret);
  await signalboxJson(settings, 'bindings', 'put', run, 'desk', '--connection', run);
  client = await connectOutside(infrastructure);
  collector = await startCollector();
});
afterEach(async () => {
  await Promise.all(running.splice(0).map(stop));
});
afterAll(async () => {
  await collector.close();
  await client.close();
});

/** Runs services as a process of their own, and waits until they have joined. */
async function started(services: readonly string[], more: Readonly<Record<string, string>>): Promise<ServiceProcess> {
  const service = await runServices(services, { ...settings, ...more });
  running.push(service);
  await untilReady(service);
  return service;
}

/** Sends a comment as GitHub does, with a `traceparent` that nobody signed, and answers the id of its raw fact. */
async function deliver({ ingressUrl }: ServiceProcess): Promise<string> {
  const body = JSON.stringify({
    action: 'created',
    repository: { full_name: `e2e/${run}`, private: false },
    sender: { id: 21031067, login: 'octocat', type: 'User' },
    issue: { number: 7, title: 'Swordfish', state: 'open' },
    comment: {
      id: ++comments,
      user: { id: 21031067, login: 'octocat', type: 'User' },
      body: 'The password is swordfish.',
      updated_at: '2031-02-28T06:00:00Z',
    },
  });
  const response = await fetch(`${ingressUrl}/webhooks/v1/github/${run}/events`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-github-event': 'issue_comment',
      'x-github-delivery': randomUUID(),
      'x-hub-signature-256': `sha256=${createHmac('sha256', webhookSecret).update(body).digest('hex')}`,
      traceparent: `00-${theirs.traceId}-${theirs.spanId}-01`,
    },
    body,
  });
  expect(response.status).toBe(200);
  // The edge answers with the id.
  return ((await response.json()) as { readonly id: string }).id;
}

const settled = () => vi.waitFor(async () => expect(await isSettled(client)).toBe(true), patience);

/** The records of a fact in all topics. */
async function recordsOf(rootId: string): Promise<readonly LogRecord[]> {
  await settled();
  const names = topics.map(({ name }) => name);
  const log = await readLog(infrastructure.kafkaBrokers.split(','), names);
  const isRaw = ({ value }: LogRecord) =>
    typeof value === 'object' && value !== null && Reflect.get(value, 'id') === rootId;
  return [...log.values()].flat().filter((record) => record.rootId === rootId || isRaw(record));
}

/** A trace as lines: which service did what, below what it came from. */
function treeOf(spans: readonly ReceivedSpan[], parent?: string, depth = 0): readonly string[] {
  return spans
    .filter(({ parentSpanId }) => parentSpanId === parent)
    .flatMap((span) => [
      `${'  '.repeat(depth)}${span.resource['service.name']}: ${span.name}`,
      ...treeOf(spans, span.spanId, depth + 1),
    ]);
}

test('a webhook is one trace through every stage, whichever process it runs in', async () => {
  const traced = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint, OTEL_BSP_SCHEDULE_DELAY: '50' };
  const [edge] = await Promise.all([
    started(['ingress', 'normalizer'], traced),
    started(['filter', 'mirror-projector', 'decision-journal'], traced),
  ]);
  const id = await deliver(edge);
  const traceId = id.replaceAll('-', '');
  const ours = () => collector.spans.filter((span) => span.traceId === traceId);
  await vi.waitFor(() => expect(ours()).toHaveLength(5), patience);

  const spans = ours();
  expect(treeOf(spans)).toEqual([
    'ingress: POST /webhooks/v1/:handlerId/:instanceId/:kind',
    '  normalizer: process raw-provider-facts',
    '    filter: process normalized-facts',
    '      mirror-projector: process accepted-facts',
    '        decision-journal: process decisions',
  ]);
  const spanOf = (service: string) => spans.find(({ resource }) => resource['service.name'] === service);
  expect(spanOf('ingress')).toMatchObject({
    kind: 2,
    links: [theirs],
    attributes: { 'http.response.status_code': 200 },
  });

  const records = await recordsOf(id);
  const inputs = { normalizer: 'raw-provider-facts', filter: 'normalized-facts', 'mirror-projector': 'accepted-facts' };
  for (const [stage, topic] of Object.entries(inputs)) {
    const record = records.find((each) => each.topic === topic);
    const span = spanOf(stage);
    expect(span).toMatchObject({
      kind: 5,
      startTimeUnixNano: record?.at,
      attributes: {
        'messaging.system': 'kafka',
        'messaging.destination.name': topic,
        'messaging.destination.partition.id': String(record?.partition),
        'messaging.kafka.offset': Number(record?.offset),
        'signalbox.stage': stage,
        'signalbox.root_id': id,
        ...(stage === 'mirror-projector' && { 'signalbox.outcomes': ['accepted'] }),
      },
      events: [{ name: 'taken up' }],
      status: { code: 0 },
    });
    const [takenUp] = span?.events ?? [];
    expect(takenUp?.timeUnixNano).toBeGreaterThanOrEqual(record?.at ?? Number.NaN);
    expect(span?.endTimeUnixNano).toBeGreaterThanOrEqual(takenUp?.timeUnixNano ?? Number.NaN);
    expect(record?.traceparent).toBe(`00-${traceId}-${span?.parentSpanId}-01`);
  }
  // Who reads actor events can go on with the trace.
  const event = records.find((each) => each.topic === 'actor-events');
  expect(event?.traceparent).toBe(`00-${traceId}-${spanOf('mirror-projector')?.spanId}-01`);
  expect(JSON.stringify(collector.spans)).not.toMatch(/swordfish|octocat/i);
});

test('while tracing is off no record has a traceparent, and nobody is told', async () => {
  const before = collector.requests.length;
  const service = await started(everyService, { OTEL_TRACES_SAMPLER_ARG: '1' });
  const records = await recordsOf(await deliver(service));
  expect([...new Set(records.map(({ topic }) => topic))].sort()).toEqual(
    ['raw-provider-facts', 'normalized-facts', 'accepted-facts', 'actor-events', 'decisions'].sort(),
  );
  expect(records.filter(({ traceparent }) => traceparent !== undefined)).toEqual([]);
  expect(collector.requests).toHaveLength(before);
});

test('a collector that does not answer costs its spans alone', async () => {
  const silent = await startCollector(() => undefined);
  try {
    const service = await started(everyService, {
      OTEL_EXPORTER_OTLP_ENDPOINT: silent.endpoint,
      OTEL_BSP_SCHEDULE_DELAY: '10',
      OTEL_BSP_MAX_QUEUE_SIZE: '2',
    });
    const records = await recordsOf(await deliver(service));
    expect(records.filter(({ topic }) => topic === 'actor-events')).toHaveLength(1);
    const metrics = await (await fetch(`${service.probeUrl}/metrics`)).text();
    expect(metrics).toMatch(/^signalbox_spans_total\{result="dropped"\} [1-9]/m);
    const from = performance.now();
    expect(await stop(service)).toMatchObject({ code: 0 });
    expect(performance.now() - from).toBeLessThan(8_000);
  } finally {
    await silent.close();
  }
});
