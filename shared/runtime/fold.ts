import type { Topic } from '../../schemas/define.ts';
import { BusError, type ErrorCode } from '../errors.ts';
import type { Effect, Reject } from '../stage/effects.ts';
import type { Message } from '../stage/message.ts';
import type { AnyStage, Reads } from '../stage/stage.ts';
import { thrownOf } from '../thrown.ts';
import {
  applyEffects,
  callRow,
  type MessageChanges,
  OutputTooLarge,
  type PendingCall,
  type Row,
  rowOfPlace,
  type Scope,
} from './apply-effects.ts';
import type { IncomingRecord, OutgoingRecord } from './bus.ts';
import { isOurFault, isWholeReject } from './circuit-breaker.ts';
import type { Codec, Decoded } from './codec.ts';
import { effectId, type RecordHeader } from './header.ts';
import type { RowWrite, SlotPosition, StoredTimer, TimerWrite, Watermark } from './store.ts';
import type { TracedRecord } from './tracing/stage-spans.ts';

/** A record that was decoded and is to be decided on. */
export interface FoldInput {
  readonly record: IncomingRecord;
  readonly header: RecordHeader | undefined;
  readonly decoded: Decoded<unknown>;
  /** The places it reads, by name; a fault when `reads` itself threw. */
  readonly reads: Reads | Fault;
  /** The stored timer of its key, when it says that it is one that fired. */
  readonly timer: StoredTimer | undefined;
}

/** An error of ours in a pure function: names where, never what. */
export class Fault {
  readonly error: string;
  readonly where: string;

  constructor(thrown: unknown) {
    const { error, where } = thrownOf(thrown);
    this.error = error;
    this.where = where;
  }
}

/**
 * What was done with one record, for metrics, the log and the circuit breaker. `silent`: folded again, nothing was sent.
 * `ours`: the whole record was rejected for a fault of ours, not for one of its own.
 */
export type FoldedRecord =
  | {
      readonly type: 'decided';
      readonly message: Message<unknown>;
      readonly effects: readonly Effect[];
      readonly silent: boolean;
    }
  | {
      readonly type: 'rejected';
      readonly code: ErrorCode;
      readonly id: string;
      readonly offset: bigint;
      readonly silent: boolean;
      readonly ours: boolean;
    }
  | { readonly type: 'repeat' }
  | { readonly type: 'unknown-type' };

/** The result of folding records: what to send, what to save, what to call. */
export interface Folded {
  readonly position: SlotPosition;
  readonly changedWatermarks: ReadonlyMap<string, Watermark>;
  readonly outputs: readonly OutgoingRecord[];
  readonly rows: ReadonlyMap<string, Row | undefined>;
  readonly rowWrites: readonly RowWrite[];
  readonly timers: ReadonlyMap<string, TimerWrite>;
  readonly calls: readonly PendingCall[];
  readonly records: readonly FoldedRecord[];
  /** What there is to tell of each record that was decided on; empty while tracing is off. */
  readonly traced: readonly TracedRecord[];
}

/** Everything around the records that a fold depends on. */
export interface FoldContext {
  readonly stage: AnyStage;
  readonly settings: unknown;
  readonly tables: Readonly<Record<string, unknown>>;
  readonly codec: Codec;
  readonly partition: number;
  readonly partitionsOf: (topic: string) => number;
  /** Records below this offset are folded silently: their outputs were sent and committed before. */
  readonly liveFrom: bigint;
  /** Off only in the test that shows what watermarks are for. */
  readonly watermarks: boolean;
  /** Off only in the test that shows why timers are known by their ids. */
  readonly timerIds: boolean;
  /** Where the work on a record stands in its trace; absent while tracing is off. Pure. */
  readonly traceparentOf?: ((record: IncomingRecord, rootId: string) => string) | undefined;
}

const rejection = (code: ErrorCode, details: Reject['details']): Reject => ({ do: 'reject', code, details });

/**
 * Folds records in order: each sees what the one before it put. Pure: the same records, position and rows give the same
 * result. `load` answers a row as it was before these records.
 */
export function foldRecords(
  context: FoldContext,
  from: SlotPosition,
  inputs: readonly FoldInput[],
  load: (row: string) => Row | undefined,
): Folded {
  const { stage } = context;
  const input: Topic = stage.input;
  const rows = new Map<string, Row | undefined>();
  const writes = new Map<string, RowWrite>();
  const timers = new Map<string, TimerWrite>();
  const watermarks = new Map(from.watermarks);
  const changedWatermarks = new Map<string, Watermark>();
  const outputs: OutgoingRecord[] = [];
  const calls: PendingCall[] = [];
  const records: FoldedRecord[] = [];
  const traced: TracedRecord[] = [];
  let { fence, at } = from;

  const read = (row: string, now: number): unknown => {
    const found = rows.has(row) ? rows.get(row) : load(row);
    if (found === undefined || (found.expireAt !== undefined && found.expireAt <= now)) return undefined;
    return found.value;
  };

  /** The timer that a record says it is, while it is pending. */
  const pendingTimer = ({ header, timer }: FoldInput): StoredTimer | undefined => {
    if (header?.timer === undefined) return undefined;
    const written = timers.get(header.timer.key);
    const stored = written === undefined ? timer : 'set' in written ? written.set : undefined;
    return stored?.id === header.timer.id ? stored : undefined;
  };

  /** Whether the record was applied before; else notes that it is now. */
  const isRepeat = (each: FoldInput, timer: StoredTimer | undefined): boolean => {
    const { header, record } = each;
    if (header?.timer !== undefined) {
      if (timer === undefined) return context.timerIds;
      timers.set(timer.key, { clear: timer.key });
      return false;
    }
    if (header?.call !== undefined) {
      const row = callRow(header.call.id);
      if (read(row, Math.max(at, record.at)) === undefined) return true;
      rows.set(row, undefined);
      writes.set(row, { row, json: undefined });
      return false;
    }
    if (header?.from === undefined || !context.watermarks) return false;
    const source = `${header.from.topic}/${header.from.partition}`;
    const { offset, effect } = header.from;
    const mark = watermarks.get(source);
    if (mark !== undefined && (offset < mark.offset || (offset === mark.offset && mark.effects.includes(effect)))) {
      return true;
    }
    const next = { offset, effects: mark?.offset === offset ? [...mark.effects, effect] : [effect] };
    watermarks.set(source, next);
    changedWatermarks.set(source, next);
    return false;
  };

  const decide = ({ decoded, reads }: FoldInput, message: Message<unknown>): readonly Effect[] => {
    if (decoded.type === 'poison') return [rejection(decoded.code, decoded.details)];
    if (reads instanceof Fault) return [rejection('stage-fault', { ...reads })];
    const view: Record<string, unknown> = { ...context.tables };
    for (const name in reads) {
      const place = reads[name];
      if (place !== undefined) view[name] = read(rowOfPlace(place, context), message.at);
    }
    // The view was filled by the stage's own `reads` and tables.
    const effects = stage.decide(view as Parameters<typeof stage.decide>[0], message, context.settings);
    const whole = effects.find(isWholeReject);
    return whole === undefined ? effects : [whole];
  };

  const decideAndApply = (each: FoldInput, scope: Scope): { effects: readonly Effect[]; changes: MessageChanges } => {
    try {
      const effects = decide(each, scope.message);
      return { effects, changes: applyEffects(scope, effects) };
    } catch (error) {
      const effects = [
        error instanceof OutputTooLarge
          ? rejection('output-too-large', { topic: error.topic, bytes: error.bytes })
          : rejection('stage-fault', { ...new Fault(error) }),
      ];
      return { effects, changes: applyEffects(scope, effects) };
    }
  };

  for (const each of inputs) {
    const { record, decoded, header } = each;
    const timer = pendingTimer(each);
    const repeat = isRepeat(each, timer);
    fence = record.offset;
    at = Math.max(at, record.at, timer?.dueAt ?? 0);
    if (repeat || decoded.type === 'unknown-type') {
      records.push({ type: repeat ? 'repeat' : 'unknown-type' });
      continue;
    }
    const id = idOf(each, input, context.partition);
    const message: Message<unknown> = {
      id,
      rootId: header?.rootId ?? id,
      at,
      key: record.key?.toString('utf8') ?? (decoded.type === 'value' ? input.key(decoded.value) : ''),
      value: decoded.type === 'value' ? decoded.value : undefined,
      ...(header?.part !== undefined && { part: header.part }),
    };
    const silent = record.offset < context.liveFrom;
    const about = decoded.type === 'value' && !silent ? (input.about?.(decoded.value) ?? {}) : {};
    const traceparent = silent ? undefined : context.traceparentOf?.(record, message.rootId);
    const { effects, changes } = decideAndApply(each, { ...context, record, message, about, silent, traceparent });
    if (traceparent !== undefined) {
      traced.push({ record, rootId: message.rootId, traceparent, effects, rejected: changes.rejected });
    }
    for (const [row, value] of changes.rows) rows.set(row, value);
    for (const write of changes.writes) writes.set(write.row, write);
    for (const [key, write] of changes.timers) timers.set(key, write);
    if (!silent) {
      outputs.push(...changes.outputs);
      calls.push(...changes.calls);
    }
    const whole = effects.some(isWholeReject);
    for (const code of changes.rejected) {
      const ours = whole && isOurFault(code, header);
      records.push({ type: 'rejected', code, id, offset: record.offset, silent, ours });
    }
    if (decoded.type === 'value') records.push({ type: 'decided', message, effects, silent });
  }

  return {
    position: { fence, at, watermarks },
    changedWatermarks,
    outputs,
    rows,
    rowWrites: [...writes.values()],
    timers,
    calls,
    records,
    traced,
  };
}

/** The stable id of a message: derived from its cause where a stage made it, else its own, else its place in the log. */
function idOf({ header, decoded, record }: FoldInput, topic: Topic, partition: number): string {
  if (header?.timer !== undefined) return header.timer.id;
  if (header?.call !== undefined) return effectId(header.call.id, 'answer');
  if (header?.from !== undefined) return effectId(header.causeId, header.from.effect);
  if (header !== undefined) return header.causeId;
  const own = decoded.type === 'value' ? topic.id?.(decoded.value) : undefined;
  return own ?? `${topic.name}/${partition}/${record.offset}`;
}

/** Whether an error is the world's: something out of reach, to be waited for. */
export const isUnavailable = (error: unknown): boolean =>
  error instanceof BusError && error.code === 'infrastructure-unavailable';
