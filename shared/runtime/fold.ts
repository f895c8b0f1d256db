import { deadLetters } from '../../schemas/dead-letter.ts';
import { decisions } from '../../schemas/decision.ts';
import type { About, Place, Topic } from '../../schemas/define.ts';
import { BusError, type ErrorCode } from '../errors.ts';
import { partitionOf } from '../partition.ts';
import type { Call, Effect, Reject } from '../stage/effects.ts';
import type { Message } from '../stage/message.ts';
import type { AnyStage, Reads } from '../stage/stage.ts';
import type { IncomingRecord, OutgoingRecord } from './bus.ts';
import type { Codec, Decoded } from './codec.ts';
import { effectId, formatHeader, type RecordHeader } from './header.ts';
import { type RowWrite, rowOf, type SlotPosition, type StoredTimer, type TimerWrite, type Watermark } from './store.ts';

/** A row as the fold sees it. Past `expireAt` it reads as absent. */
export interface Row {
  readonly value: unknown;
  readonly expireAt?: number;
}

/** A record that was decoded and is to be decided on. */
export interface FoldInput {
  readonly record: IncomingRecord;
  readonly header: RecordHeader | undefined;
  readonly decoded: Decoded<unknown>;
  /** The places it reads, by name; a fault when `reads` itself threw. */
  readonly reads: Reads | Fault;
  /** Its pending timer, when it is one that fired. */
  readonly timer: StoredTimer | undefined;
}

/** An error of ours in a pure function: names where, never what. */
export class Fault {
  readonly error: string;
  readonly where: string;

  constructor(error: unknown) {
    this.error = error instanceof Error ? error.name : typeof error;
    const frame = error instanceof Error ? /\n\s+at ([^\n]+)/.exec(error.stack ?? '') : null;
    this.where = (frame?.[1] ?? 'unknown').replace(/(file:\/\/)?\/\S*\/(?=(services|shared|schemas|test)\/)/, '');
  }
}

/** A provider call to make once its batch is saved and committed. */
export interface PendingCall {
  readonly id: string;
  readonly rootId: string;
  readonly causeId: string;
  readonly call: Call;
}

/** What was done with one record, for metrics and the log. */
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
}

/** The row that remembers a call until its answer comes, so that a second answer is known as a repeat. */
export const callRow = (id: string): string => rowOf('$calls', id);

/** How long past its timeout an answer is waited for. */
const callGraceMs = 600_000;
/** A row lives this much longer in the store than in message time, so that a reader that lags still sees it. */
const rowGraceMs = 3_600_000;
const defaultMaxBytes = 1_048_576;
/** Room that a batch needs beside its records. */
const batchOverhead = 1_024;

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
  const { stage, codec } = context;
  const input: Topic = stage.input;
  const rows = new Map<string, Row | undefined>();
  const writes = new Map<string, RowWrite>();
  const timers = new Map<string, TimerWrite>();
  const watermarks = new Map(from.watermarks);
  const changedWatermarks = new Map<string, Watermark>();
  const outputs: OutgoingRecord[] = [];
  const calls: PendingCall[] = [];
  const records: FoldedRecord[] = [];
  let { fence, at } = from;

  const read = (row: string, now: number): unknown => {
    const found = rows.has(row) ? rows.get(row) : load(row);
    if (found === undefined || (found.expireAt !== undefined && found.expireAt <= now)) return undefined;
    return found.value;
  };

  const timerIs = (key: string, id: string, stored: StoredTimer | undefined): StoredTimer | undefined => {
    const written = timers.get(key);
    const pending = written === undefined ? stored : 'set' in written ? written.set : undefined;
    return pending?.id === id ? pending : undefined;
  };

  /** Whether the record was applied before; else notes that it is now. */
  const isRepeat = ({ record, header, timer }: FoldInput): boolean => {
    if (header?.timer !== undefined) return timerIs(header.timer.key, header.timer.id, timer) === undefined;
    if (header?.call !== undefined) return read(callRow(header.call.id), Math.max(at, record.at)) === undefined;
    if (header?.from === undefined || !context.watermarks) return false;
    const source = `${header.from.topic}/${header.from.partition}`;
    const { offset, effect } = header.from;
    const mark = watermarks.get(source);
    if (mark !== undefined && (offset < mark.offset || (offset === mark.offset && mark.effects.includes(effect))))
      return true;
    const next = { offset, effects: mark?.offset === offset ? [...mark.effects, effect] : [effect] };
    watermarks.set(source, next);
    changedWatermarks.set(source, next);
    return false;
  };

  const header = (message: Pick<Message<unknown>, 'id' | 'rootId'>, offset: bigint, effect: string): string =>
    formatHeader({
      rootId: message.rootId,
      causeId: message.id,
      from: { topic: input.name, partition: context.partition, offset, effect },
    });

  const recordTo = (topic: Topic, value: unknown, headerText: string, traceparent?: string): OutgoingRecord => {
    const key = topic.key(value);
    return {
      topic: topic.name,
      partition: partitionOf(key, context.partitionsOf(topic.name)),
      key: Buffer.from(key, 'utf8'),
      value: codec.encode(topic, value),
      header: headerText,
      ...(traceparent !== undefined && { traceparent }),
    };
  };

  const checkedRow = (place: Place): string => {
    if (
      place.projection.stage !== stage.name ||
      partitionOf(place.owner, context.partitionsOf(input.name)) !== context.partition
    ) {
      throw new RangeError('a place of another partition or stage');
    }
    return rowOf(place.projection.name, place.key);
  };

  for (const each of inputs) {
    const { record, decoded } = each;
    const pending = each.header?.timer && timerIs(each.header.timer.key, each.header.timer.id, each.timer);
    const messageAt = Math.max(at, record.at, pending?.dueAt ?? 0);
    const repeat = isRepeat(each);
    fence = record.offset;
    at = messageAt;
    if (repeat) {
      records.push({ type: 'repeat' });
      continue;
    }
    if (each.header?.timer !== undefined) timers.set(each.header.timer.key, { clear: each.header.timer.key });
    if (each.header?.call !== undefined) {
      rows.set(callRow(each.header.call.id), undefined);
      writes.set(callRow(each.header.call.id), { row: callRow(each.header.call.id), json: undefined });
    }
    if (decoded.type === 'unknown-type') {
      records.push({ type: 'unknown-type' });
      continue;
    }
    const silent = record.offset < context.liveFrom;
    const position = `${input.name}/${context.partition}/${record.offset}`;
    const id = idOf(each, input, position);
    const rootId = each.header?.rootId ?? id;
    const message: Message<unknown> = {
      id,
      rootId,
      at,
      key: record.key?.toString('utf8') ?? (decoded.type === 'value' ? input.key(decoded.value) : ''),
      value: decoded.type === 'value' ? decoded.value : undefined,
      ...(each.header?.part !== undefined && { part: each.header.part }),
    };

    /** Applies effects to copies, so that a fault or a rejection of the whole message leaves no trace. */
    const apply = (effects: readonly Effect[]): void => {
      const about: About = decoded.type === 'value' ? (input.about?.(decoded.value) ?? {}) : {};
      const own = {
        outputs: [] as OutgoingRecord[],
        rows: new Map<string, Row | undefined>(),
        writes: new Map<string, RowWrite>(),
        timers: new Map<string, TimerWrite>(),
        calls: [] as PendingCall[],
      };
      const decide = (
        name: string,
        made: {
          readonly status: 'dead_letter' | Extract<Effect, { do: 'outcome' }>['status'];
          readonly reason?: string;
          readonly about?: About;
        },
      ): OutgoingRecord => {
        const value = {
          rootId,
          stage: stage.name,
          status: made.status,
          ...(made.reason !== undefined && { reason: made.reason.slice(0, 1_000) }),
          at,
          from: position,
          about: { ...about, ...made.about },
        };
        return recordTo(decisions as Topic, value, header(message, record.offset, name), record.traceparent);
      };
      effects.forEach((effect, index) => {
        switch (effect.do) {
          case 'emit': {
            if (!stage.outputs.includes(effect.topic)) throw new RangeError('a topic that the stage does not declare');
            const name = effect.name ?? String(index);
            const made = recordTo(effect.topic, effect.value, header(message, record.offset, name), record.traceparent);
            const limit = (effect.topic.maxBytes ?? defaultMaxBytes) - batchOverhead;
            if ((made.value?.length ?? 0) + (made.key?.length ?? 0) + (made.header?.length ?? 0) > limit) {
              throw new OutputTooLarge(effect.topic.name, made.value?.length ?? 0);
            }
            own.outputs.push(made);
            return;
          }
          case 'put': {
            const row = checkedRow(effect.place);
            const { value, expireAt } = effect;
            own.rows.set(row, { value, ...(expireAt !== undefined && { expireAt }) });
            own.writes.set(row, {
              row,
              json: JSON.stringify({ v: value, ...(expireAt !== undefined && { x: expireAt }) }),
              ...(expireAt !== undefined && { lifetimeMs: Math.max(0, expireAt - at) + rowGraceMs }),
            });
            return;
          }
          case 'remove': {
            const row = checkedRow(effect.place);
            own.rows.set(row, undefined);
            own.writes.set(row, { row, json: undefined });
            return;
          }
          case 'later': {
            const key = input.key(effect.value);
            if (partitionOf(key, context.partitionsOf(input.name)) !== context.partition) {
              throw new RangeError('a timer for another partition');
            }
            const json = JSON.stringify({ rootId, causeId: id, value: effect.value });
            own.timers.set(effect.key, {
              set: { key: effect.key, id: effectId(id, String(index)), dueAt: effect.dueAt, json },
            });
            return;
          }
          case 'cancel':
            own.timers.set(effect.key, { clear: effect.key });
            return;
          case 'call': {
            const callId = effectId(id, String(index));
            const expireAt = at + effect.request.timeoutMs + callGraceMs;
            own.rows.set(callRow(callId), { value: true, expireAt });
            own.writes.set(callRow(callId), {
              row: callRow(callId),
              json: JSON.stringify({ v: true, x: expireAt }),
              lifetimeMs: expireAt - at + rowGraceMs,
            });
            own.calls.push({ id: callId, rootId, causeId: id, call: effect });
            return;
          }
          case 'outcome': {
            const { agentUid, bindingName } = effect.about ?? {};
            const name = bindingName === undefined ? String(index) : `${agentUid}|${bindingName}`;
            own.outputs.push(decide(`outcome:${name}`, effect));
            return;
          }
          case 'reject': {
            const name = effect.part ?? '';
            const letter = {
              rootId,
              stage: stage.name,
              code: effect.code,
              details: effect.details,
              ...(effect.part !== undefined && { part: effect.part }),
              topic: input.name,
              partition: context.partition,
              offset: String(record.offset),
              at,
              ...(record.key !== null && { key: record.key.toString('base64') }),
              ...(record.value !== null && { value: record.value.toString('base64') }),
              ...(record.header !== undefined && { header: record.header }),
            };
            own.outputs.push(
              recordTo(
                deadLetters as Topic,
                letter,
                header(message, record.offset, `dead:${name}`),
                record.traceparent,
              ),
              decide(`outcome:${name}`, {
                status: 'dead_letter',
                reason: effect.code,
                ...(effect.about !== undefined && { about: effect.about }),
              }),
            );
            records.push({ type: 'rejected', code: effect.code, id, offset: record.offset, silent });
            return;
          }
        }
      });
      for (const [row, value] of own.rows) rows.set(row, value);
      for (const [row, write] of own.writes) writes.set(row, write);
      for (const [key, write] of own.timers) timers.set(key, write);
      if (silent) return;
      outputs.push(...own.outputs);
      calls.push(...own.calls);
    };

    const decideOn = (): readonly Effect[] => {
      if (decoded.type === 'poison') return [rejection(decoded.code, decoded.details)];
      if (each.reads instanceof Fault) return [rejection('stage-fault', { ...each.reads })];
      const view: Record<string, unknown> = { ...context.tables };
      for (const [name, place] of Object.entries(each.reads)) view[name] = read(checkedRow(place), at);
      const effects = stage.decide(view as Parameters<typeof stage.decide>[0], message, context.settings);
      return effects.find((effect) => effect.do === 'reject' && effect.part === undefined)
        ? effects.filter((effect) => effect.do === 'reject' && effect.part === undefined).slice(0, 1)
        : effects;
    };

    const seen = records.length;
    let effects: readonly Effect[];
    try {
      effects = decideOn();
      apply(effects);
    } catch (error) {
      records.length = seen;
      effects = [
        error instanceof OutputTooLarge
          ? rejection('output-too-large', { topic: error.topic, bytes: error.bytes })
          : rejection('stage-fault', { ...new Fault(error) }),
      ];
      apply(effects);
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
  };
}

class OutputTooLarge extends Error {
  readonly topic: string;
  readonly bytes: number;

  constructor(topic: string, bytes: number) {
    super('output too large');
    this.topic = topic;
    this.bytes = bytes;
  }
}

/** The stable id of a message: derived from its cause where a stage made it, else its own, else its place in the log. */
function idOf({ header, decoded }: FoldInput, topic: Topic, position: string): string {
  if (header?.timer !== undefined) return header.timer.id;
  if (header?.call !== undefined) return effectId(header.call.id, 'answer');
  if (header?.from !== undefined) return effectId(header.causeId, header.from.effect);
  if (header !== undefined) return header.causeId;
  return (decoded.type === 'value' ? topic.id?.(decoded.value) : undefined) ?? position;
}

/** Whether an error is the world's: something out of reach, to be waited for. */
export const isUnavailable = (error: unknown): boolean =>
  error instanceof BusError && error.code === 'infrastructure-unavailable';
