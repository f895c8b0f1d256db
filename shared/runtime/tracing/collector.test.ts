import { afterEach, describe, expect, test, vi } from 'vitest';
import { startCollector, type TestCollector } from '../../testing/collector.ts';
import { systemClock } from '../clock.ts';
import { silentLog } from '../log.ts';
import { readTracingSettings } from '../tracing-settings.ts';
import { openTracing, type SpanResult } from './open-tracing.ts';
import { traceIdOf } from './trace-context.ts';
import type { Tracing } from './tracing.ts';

const ids = Array.from({ length: 8 }, (_, index) => `01a23183-877d-786f-af2e-1e6b967c880${index}`);
const started: TestCollector[] = [];
afterEach(async () => {
  await Promise.all(started.splice(0).map((collector) => collector.close()));
});

async function tracing(endpoint: string, more: Readonly<Record<string, string>> = {}) {
  const counts: Record<SpanResult, number> = { exported: 0, dropped: 0 };
  const lines: (readonly [object, string])[] = [];
  const settings = { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_BSP_SCHEDULE_DELAY: '10', ...more };
  const opened = await openTracing(readTracingSettings(settings), {
    clock: systemClock,
    log: { ...silentLog, warn: (fields, phrase) => void lines.push([fields, phrase]) },
    onSpans: (result, count) => {
      counts[result] += count;
    },
  });
  if (opened === undefined) throw new Error('tracing is off');
  return { tracing: opened, counts, lines };
}

async function collector(answer?: Parameters<typeof startCollector>[0]): Promise<TestCollector> {
  const running = await startCollector(answer);
  started.push(running);
  return running;
}

const tell = ({ webhook }: Tracing, id: string): void =>
  webhook(id).end({
    provider: 'bell',
    connectionId: 'octo',
    startedAt: 1_929_952_800_000.25,
    status: 200,
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  });

test('spans reach the collector, with the headers it asks for', async () => {
  const { endpoint, spans, requests } = await collector();
  const { tracing: on, counts } = await tracing(endpoint, { OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=a%20b' });
  tell(on, ids[0] ?? '');
  await vi.waitFor(() => expect(counts).toEqual({ exported: 1, dropped: 0 }));
  await on.close();
  expect(requests.map(({ path, headers }) => [path, headers['content-type'], headers['x-tenant']])).toEqual([
    ['/v1/traces', 'application/json', 'a b'],
  ]);
  expect(spans).toEqual([
    {
      traceId: traceIdOf(ids[0] ?? ''),
      spanId: expect.stringMatching(/^[0-9a-f]{16}$/),
      name: 'POST /webhooks/v1/:handlerId/:instanceId/:kind',
      kind: 2,
      startTimeUnixNano: 1_929_952_800_000.25,
      endTimeUnixNano: expect.any(Number),
      attributes: {
        'http.request.method': 'POST',
        'http.route': '/webhooks/v1/:handlerId/:instanceId/:kind',
        'http.response.status_code': 200,
        'signalbox.provider': 'bell',
        'signalbox.connection_id': 'octo',
        'signalbox.root_id': ids[0],
      },
      events: [],
      links: [{ traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' }],
      status: { code: 0 },
      resource: {
        'service.namespace': 'signalbox',
        'service.name': 'ingress',
        'service.instance.id': expect.any(String),
      },
    },
  ]);
});

test('what waits is sent at the end', async () => {
  const { endpoint, spans } = await collector();
  const { tracing: on, counts } = await tracing(endpoint, { OTEL_BSP_SCHEDULE_DELAY: '60000' });
  for (const id of ids) tell(on, id);
  await on.close();
  expect(spans.map(({ traceId }) => traceId)).toEqual(ids.map(traceIdOf));
  expect(counts).toEqual({ exported: 8, dropped: 0 });
});

describe('a collector harms nobody', () => {
  test('that refuses: its spans are dropped and counted, and the log says so once', async () => {
    const { endpoint } = await collector((response) => response.writeHead(403).end('swordfish'));
    const { tracing: on, counts, lines } = await tracing(endpoint);
    for (const id of ids.slice(0, 2)) tell(on, id);
    await vi.waitFor(() => expect(counts).toEqual({ exported: 0, dropped: 2 }));
    tell(on, ids[2] ?? '');
    await vi.waitFor(() => expect(counts).toEqual({ exported: 0, dropped: 3 }));
    await on.close();
    expect(lines).toEqual([[{ causedBy: '403' }, 'spans dropped']]);
  });

  test('that does not answer: what is over the bound is dropped at once, and the end waits two seconds', async () => {
    const { endpoint } = await collector(() => undefined);
    const { tracing: on, counts, lines } = await tracing(endpoint, { OTEL_BSP_MAX_QUEUE_SIZE: '3' });
    for (const id of ids) tell(on, id);
    expect(counts).toEqual({ exported: 0, dropped: 5 });
    const from = performance.now();
    await on.close();
    const waited = performance.now() - from;
    expect(waited).toBeGreaterThan(1_900);
    expect(waited).toBeLessThan(2_900);
    expect(counts).toEqual({ exported: 0, dropped: 8 });
    expect(lines).toEqual([[{ causedBy: 'queue full' }, 'spans dropped']]);
  });

  test('that is away: nobody who tells spans waits', async () => {
    const { tracing: on, counts } = await tracing('http://127.0.0.1:1', { OTEL_BSP_MAX_QUEUE_SIZE: '100' });
    const from = performance.now();
    for (let round = 0; round < 100; round++) for (const id of ids) tell(on, id);
    expect(performance.now() - from).toBeLessThan(1_000);
    expect(counts).toEqual({ exported: 0, dropped: 700 });
    await on.close();
    expect(counts).toEqual({ exported: 0, dropped: 800 });
  });
});

test('what comes after the end is dropped too', async () => {
  const { endpoint } = await collector();
  const { tracing: on, counts } = await tracing(endpoint);
  await on.close();
  tell(on, ids[0] ?? '');
  expect(counts).toEqual({ exported: 0, dropped: 1 });
});

test('tracing that is not configured is not there', async () => {
  const world = { clock: systemClock, log: silentLog, onSpans: () => undefined };
  expect(await openTracing(readTracingSettings({}), world)).toBeUndefined();
});
