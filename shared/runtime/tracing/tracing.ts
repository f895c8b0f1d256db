import type { CallAnswer } from '../../stage/effects.ts';
import type { AnyStage } from '../../stage/stage.ts';
import type { PendingCall } from '../apply-effects.ts';
import type { IncomingRecord } from '../bus.ts';
import type { Clock } from '../clock.ts';
import { groupOf } from '../run-stage.ts';
import { callContext, callSpan } from './call-span.ts';
import type { Span } from './span.ts';
import { contextOf, recordSpan, type TracedRecord } from './stage-spans.ts';
import { formatTraceparent } from './trace-context.ts';
import { type Webhook, webhookContext, webhookSpan } from './webhook-span.ts';

/** Work that has begun: where it stands, for what comes of it, and what to tell when it is over. */
export interface OpenSpan<End> {
  readonly traceparent: string;
  readonly end: (told: End) => void;
}

/** Tells what a stage does. Nothing in it throws or waits. */
export interface StageTracing {
  /** Where the work on a record of a partition stands. Pure: a repeat gets the same answer. */
  readonly traceparentOf: (partition: number) => (record: IncomingRecord, rootId: string) => string;
  /** Tells of records whose batch, taken up at `startedAt`, was saved. */
  readonly saved: (partition: number, traced: readonly TracedRecord[], startedAt: number) => void;
  /** Begins a provider call; undefined where its trace is not recorded. */
  readonly call: (pending: PendingCall) => OpenSpan<CallAnswer> | undefined;
}

/** Tells what a process does. */
export interface Tracing {
  readonly stage: (stage: AnyStage) => StageTracing;
  /** Begins the trace of a genuine webhook, by the id of its fact. */
  readonly webhook: (id: string) => OpenSpan<Omit<Webhook, 'id' | 'endedAt'>>;
  /** Sends what waits, for a moment at most. */
  readonly close: () => Promise<void>;
}

/** Where spans go. `add` never throws or waits. */
export interface SpanSink {
  readonly add: (span: Span) => void;
  readonly close: () => Promise<void>;
}

/** Makes spans of what a process does, for the given share of facts. */
export function createTracing(options: {
  readonly sink: SpanSink;
  readonly share: number;
  readonly clock: Pick<Clock, 'now'>;
}): Tracing {
  const { sink, share, clock } = options;
  return {
    stage: (stage) => ({
      traceparentOf: (partition) => (record, rootId) =>
        formatTraceparent(contextOf(record, { stage: stage.name, partition, rootId, share })),
      saved(partition, traced, startedAt) {
        const at = { stage, group: groupOf(stage.name), partition, startedAt, savedAt: clock.now() };
        for (const record of traced) {
          const span = recordSpan(record, at);
          if (span !== undefined) sink.add(span);
        }
      },
      call(pending) {
        const context = callContext(pending);
        if (context === undefined) return undefined;
        const startAt = clock.now();
        return {
          traceparent: formatTraceparent(context),
          end(answer) {
            if (!context.sampled) return;
            sink.add(callSpan(pending, { stage: stage.name, context, startAt, endAt: clock.now(), answer }));
          },
        };
      },
    }),
    webhook(id) {
      const context = webhookContext(id, share);
      return {
        traceparent: formatTraceparent(context),
        end(told) {
          if (context.sampled) sink.add(webhookSpan({ ...told, id, endedAt: clock.now() }, context));
        },
      };
    },
    close: sink.close,
  };
}
