import type { ErrorCode } from '../../errors.ts';
import type { Effect } from '../../stage/effects.ts';
import type { AnyStage } from '../../stage/stage.ts';
import type { IncomingRecord } from '../bus.ts';
import type { Span } from './span.ts';
import { isSampled, parseTraceparent, spanIdOf, type TraceContext, traceIdOf } from './trace-context.ts';

/** A record that was decided on, with what its span tells. */
export interface TracedRecord {
  readonly record: IncomingRecord;
  readonly rootId: string;
  /** Where the work on it stands, as its outputs have it. */
  readonly traceparent: string;
  readonly effects: readonly Effect[];
  readonly rejected: readonly ErrorCode[];
}

/**
 * Where a stage's work on a record stands in its trace: below the span that the record names. A record without one, as
 * from a publisher or a timer, goes into the trace of its root fact. Who may write to the log may write facts, so its
 * choice to record a trace is believed.
 */
export function contextOf(
  { traceparent, offset }: Pick<IncomingRecord, 'traceparent' | 'offset'>,
  work: { readonly stage: string; readonly partition: number; readonly rootId: string; readonly share: number },
): TraceContext {
  const parent = parseTraceparent(traceparent);
  const traceId = parent?.traceId ?? traceIdOf(work.rootId);
  return {
    traceId,
    // A record's place is its own even where its id is not: a redriven record has the ids of the first try.
    spanId: spanIdOf(traceId, `${work.stage} ${work.partition} ${offset}`),
    sampled: parent?.sampled ?? isSampled(traceId, work.share),
  };
}

/**
 * The span of a record that was decided on and saved; undefined where its trace is not recorded. It begins with the
 * record's append, so that the time in the queue is seen, and its event tells when the stage took it up.
 */
export function recordSpan(
  { record, rootId, traceparent, effects, rejected }: TracedRecord,
  at: {
    readonly stage: AnyStage;
    readonly group: string;
    readonly partition: number;
    readonly startedAt: number;
    readonly savedAt: number;
  },
): Span | undefined {
  const context = parseTraceparent(traceparent);
  if (context?.sampled !== true) return undefined;
  const topic = at.stage.input.name;
  const outcomes = new Set(effects.flatMap((effect) => (effect.do === 'outcome' ? [effect.status] : [])));
  // The brokers' clock may be ahead of this machine's.
  const startedAt = Math.max(record.at, at.startedAt);
  return {
    service: at.stage.name,
    kind: 'consumer',
    name: `process ${topic}`,
    context,
    parent: parseTraceparent(record.traceparent),
    startAt: record.at,
    endAt: Math.max(startedAt, at.savedAt),
    attributes: {
      'messaging.system': 'kafka',
      'messaging.operation.type': 'process',
      'messaging.operation.name': 'process',
      'messaging.consumer.group.name': at.group,
      'messaging.destination.name': topic,
      'messaging.destination.partition.id': String(at.partition),
      'messaging.kafka.offset': Number(record.offset),
      'signalbox.stage': at.stage.name,
      'signalbox.root_id': rootId,
      ...(outcomes.size > 0 && { 'signalbox.outcomes': [...outcomes].sort() }),
      ...(rejected.length > 0 && { 'signalbox.reject_codes': [...new Set(rejected)].sort() }),
    },
    events: [{ name: 'taken up', at: startedAt }],
    error: rejected[0],
  };
}
