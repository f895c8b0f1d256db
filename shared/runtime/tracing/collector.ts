import { randomUUID } from 'node:crypto';
import { type HrTime, type SpanContext, SpanKind, SpanStatusCode, TraceFlags } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { type Resource, resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, type ReadableSpan, type SpanExporter } from '@opentelemetry/sdk-trace';
import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import type { TracingSettings } from '../tracing-settings.ts';
import type { SpanResult } from './open-tracing.ts';
import type { Span } from './span.ts';
import type { TraceContext } from './trace-context.ts';
import type { SpanSink } from './tracing.ts';

/** Spans in one request, at most. */
const requestSpans = 512;
const requestMs = 5_000;
/** How long the end of a process waits for the collector. */
const closeMs = 2_000;
/** How often the log says that spans are dropped. */
const droppedToldMs = 30_000;

/**
 * Sends spans to a collector by OTLP, in the background. What does not fit into the queue, or is not taken after a few
 * tries, is dropped and counted: nobody waits for it.
 */
export function openCollector(
  settings: TracingSettings,
  world: {
    readonly clock: Clock;
    readonly log: Log;
    readonly onSpans: (result: SpanResult, count: number) => void;
  },
): SpanSink {
  const { url, headers, queueSpans, delayMs } = settings;
  const { clock, log, onSpans } = world;
  const otlp = new OTLPTraceExporter({ url, headers: { ...headers }, timeoutMillis: requestMs });
  let waiting = 0;
  let closed = false;
  let toldAt = Number.NEGATIVE_INFINITY;

  const drop = (count: number, causedBy: string): void => {
    onSpans('dropped', count);
    if (clock.now() - toldAt < droppedToldMs) return;
    toldAt = clock.now();
    log.warn({ causedBy }, 'spans dropped');
  };

  const exporter: SpanExporter = {
    export(spans, done) {
      otlp.export(spans, (result) => {
        waiting -= spans.length;
        if (result.error === undefined) onSpans('exported', spans.length);
        else drop(spans.length, reasonOf(result.error));
        done(result);
      });
    },
    shutdown: () => otlp.shutdown(),
  };
  const processor = new BatchSpanProcessor({
    exporter,
    maxQueueSize: queueSpans,
    maxExportBatchSize: Math.min(requestSpans, queueSpans),
    scheduledDelayMillis: delayMs,
  });
  const toReadable = createReadable();

  return {
    add(span) {
      if (closed) return drop(1, 'stopped');
      // Counted here, with what is on its way: the processor counts only what has not left yet, and tells nobody.
      if (waiting >= queueSpans) return drop(1, 'queue full');
      waiting++;
      processor.onEnd(toReadable(span));
    },
    async close() {
      closed = true;
      const stop = new AbortController();
      const flushed = processor.shutdown().then(
        () => stop.abort(),
        // What was not taken was counted and told above.
        () => stop.abort(),
      );
      await Promise.race([flushed, clock.sleep(closeMs, stop.signal)]);
      if (waiting > 0) drop(waiting, 'stopped');
    },
  };
}

/** What kind of failure it was; its message may hold what the collector said. */
const reasonOf = (error: Error): string => ('code' in error ? String(error.code) : error.name);

const kinds = { server: SpanKind.SERVER, consumer: SpanKind.CONSUMER, client: SpanKind.CLIENT } as const;

const instant = (ms: number): HrTime => [Math.floor(ms / 1_000), Math.floor((ms % 1_000) * 1e6)];

const spanContext = ({ traceId, spanId, sampled }: TraceContext, isRemote: boolean): SpanContext => ({
  traceId,
  spanId,
  traceFlags: sampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
  isRemote,
});

/** Writes spans in the library's form. Each service of the process is a service of its own there. */
function createReadable(): (span: Span) => ReadableSpan {
  const instanceId = randomUUID();
  const resources = new Map<string, Resource>();
  const resourceOf = (service: string): Resource => {
    const known = resources.get(service);
    if (known !== undefined) return known;
    const resource = resourceFromAttributes({
      'service.namespace': 'signalbox',
      'service.name': service,
      'service.instance.id': instanceId,
    });
    resources.set(service, resource);
    return resource;
  };

  return (span) => {
    const context = spanContext(span.context, false);
    return {
      name: span.name,
      kind: kinds[span.kind],
      spanContext: () => context,
      ...(span.parent !== undefined && { parentSpanContext: spanContext(span.parent, span.kind !== 'client') }),
      startTime: instant(span.startAt),
      endTime: instant(span.endAt),
      duration: instant(span.endAt - span.startAt),
      ended: true,
      status: { code: span.error === undefined ? SpanStatusCode.UNSET : SpanStatusCode.ERROR },
      attributes: {
        ...Object.fromEntries(Object.entries(span.attributes).map(([name, value]) => [name, copyOf(value)])),
        ...(span.error !== undefined && { 'error.type': span.error }),
      },
      links: span.link === undefined ? [] : [{ context: spanContext(span.link, true) }],
      events: (span.events ?? []).map(({ name, at }) => ({ name, time: instant(at) })),
      resource: resourceOf(span.service),
      instrumentationScope: { name: 'signalbox' },
      droppedAttributesCount: 0,
      droppedEventsCount: 0,
      droppedLinksCount: 0,
    };
  };
}

const copyOf = (value: Span['attributes'][string]): string | number | string[] =>
  typeof value === 'string' || typeof value === 'number' ? value : [...value];
