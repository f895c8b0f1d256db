import { expect, test } from 'vitest';
import type { Span } from '../../shared/runtime/tracing/span.ts';
import { createTracing } from '../../shared/runtime/tracing/tracing.ts';
import { edgeUnderTest, now, ring } from './edge-under-test.ts';

const theirs = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

/** The edge with tracing on: its spans, and the `traceparent` of each fact that it published. */
function tracedEdge(options: { readonly share?: number; readonly fails?: boolean } = {}) {
  const spans: Span[] = [];
  const published: { readonly id: string | undefined; readonly traceparent: string | undefined }[] = [];
  const edge = edgeUnderTest({
    tracing: createTracing({
      sink: { add: (span) => void spans.push(span), close: async () => undefined },
      share: options.share ?? 1,
      clock: { now: () => now },
    }),
    publish: async ({ id }, traceparent) => {
      published.push({ id, traceparent });
      if (options.fails === true) throw new Error('the log is broken');
      return { partition: 3 };
    },
  });
  return { ...edge, spans, published };
}

test('a genuine fact begins a trace with the digits of its id, and its record says so', async () => {
  const edge = tracedEdge();
  await edge.app.inject(ring('{}'));
  const [{ id = '', traceparent } = {}] = edge.published;
  const [span] = edge.spans;
  expect(span).toEqual({
    service: 'ingress',
    kind: 'server',
    name: 'POST /webhooks/v1/:handlerId/:instanceId/:kind',
    context: { traceId: id.replaceAll('-', ''), spanId: expect.any(String), sampled: true },
    parent: undefined,
    link: undefined,
    startAt: expect.any(Number),
    endAt: now,
    attributes: {
      'http.request.method': 'POST',
      'http.route': '/webhooks/v1/:handlerId/:instanceId/:kind',
      'http.response.status_code': 200,
      'signalbox.provider': 'bell',
      'signalbox.connection_id': 'octo',
      'signalbox.root_id': id,
    },
    error: undefined,
  });
  expect(span?.startAt).toBeLessThan(now);
  expect(traceparent).toBe(`00-${span?.context.traceId}-${span?.context.spanId}-01`);
  expect(edge.spans).toHaveLength(1);
});

test('a sender chooses neither the trace nor whether it is recorded: its own is linked', async () => {
  const [recorded, passed] = [tracedEdge(), tracedEdge({ share: 0 })];
  for (const edge of [recorded, passed]) await edge.app.inject(ring('{}', { headers: { traceparent: theirs } }));
  const [span] = recorded.spans;
  expect(span?.context.traceId).toBe(recorded.published[0]?.id?.replaceAll('-', ''));
  expect([span?.parent, span?.link]).toEqual([
    undefined,
    { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331', sampled: true },
  ]);
  expect(passed.spans).toEqual([]);
  expect(passed.published.map(({ traceparent }) => traceparent)).toEqual([
    expect.stringMatching(new RegExp(`^00-${passed.published[0]?.id?.replaceAll('-', '')}-[0-9a-f]{16}-00$`)),
  ]);
});

test('what was not genuine, or is no fact, begins nothing', async () => {
  const edge = tracedEdge();
  const headers = { traceparent: theirs };
  await edge.app.inject(ring('{}', { headers: { ...headers, 'x-bell-signature': 'forged' } }));
  await edge.app.inject(ring('{}', { headers: { ...headers, 'x-bell-hello': 'yes' } }));
  await edge.app.inject({ ...ring('{}', { headers }), url: '/webhooks/v1/bell/nobody/events' });
  expect(edge.outcomes.map(({ outcome }) => outcome)).toEqual([
    'signature_invalid',
    'answered_handshake',
    'unknown_webhook',
  ]);
  expect([edge.spans, edge.published]).toEqual([[], []]);
});

test('a fact that was not published is told as failed', async () => {
  const edge = tracedEdge({ fails: true });
  await edge.app.inject(ring('{}'));
  expect(edge.spans.map(({ attributes, error }) => [attributes['http.response.status_code'], error])).toEqual([
    [500, '500'],
  ]);
});

test('while tracing is off, a fact has no traceparent, whatever its sender gave', async () => {
  const traceparents: (string | undefined)[] = [];
  const edge = edgeUnderTest({
    publish: async (_, traceparent) => {
      traceparents.push(traceparent);
      return { partition: 0 };
    },
  });
  await edge.app.inject(ring('{}', { headers: { traceparent: theirs } }));
  expect(traceparents).toEqual([undefined]);
});
