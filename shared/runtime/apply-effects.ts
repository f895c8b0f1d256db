import { bindingKey } from '../../schemas/binding.ts';
import { deadLetters } from '../../schemas/dead-letter.ts';
import { type Decision, decisions } from '../../schemas/decision.ts';
import type { About, StagePlace, Topic } from '../../schemas/define.ts';
import type { ErrorCode } from '../errors.ts';
import { partitionOf } from '../partition.ts';
import type { Call, CallRequest, Effect, Emit, Later, Outcome, Put, Reject } from '../stage/effects.ts';
import type { Message } from '../stage/message.ts';
import type { AnyStage } from '../stage/stage.ts';
import type { IncomingRecord, OutgoingRecord } from './bus.ts';
import type { Codec } from './codec.ts';
import { effectId, formatHeader } from './header.ts';
import { type RowWrite, rowOf, type TimerWrite } from './store.ts';
import { passedOn } from './tracing/trace-context.ts';

/** A row as decisions see it. Past `expireAt` it reads as absent. */
export interface Row {
  readonly value: unknown;
  readonly expireAt?: number;
}

/** A provider call to make once its batch is saved and committed. */
export interface PendingCall {
  readonly id: string;
  readonly rootId: string;
  readonly causeId: string;
  readonly call: Call;
  /** Where the work that asks for it stands in its trace. */
  readonly traceparent?: string;
}

/** What the effects of one message change and send. */
export interface MessageChanges {
  readonly outputs: readonly OutgoingRecord[];
  /** In order: of a row or a timer that is changed twice, the later one counts. */
  readonly rows: readonly (readonly [row: string, value: Row | undefined])[];
  readonly writes: readonly RowWrite[];
  readonly timers: readonly (readonly [key: string, write: TimerWrite])[];
  readonly calls: readonly PendingCall[];
  readonly rejected: readonly ErrorCode[];
}

/** Where a message stands and what it may touch. */
export interface Scope {
  readonly stage: AnyStage;
  readonly codec: Codec;
  readonly partition: number;
  readonly partitionsOf: (topic: string) => number;
  readonly record: IncomingRecord;
  readonly message: Message<unknown>;
  readonly about: About;
  /** Nothing of it will be sent: only what it keeps, and whether it is rejected, is wanted. */
  readonly silent: boolean;
  /** Where the work on it stands in its trace. Without, the record's own is passed on. */
  readonly traceparent: string | undefined;
}

/** An output is larger than its topic takes. */
export class OutputTooLarge extends Error {
  readonly topic: string;
  readonly bytes: number;

  constructor(topic: string, bytes: number) {
    super('an output is larger than its topic takes');
    this.topic = topic;
    this.bytes = bytes;
  }
}

/** How long past its timeout an answer is waited for. */
const callGraceMs = 600_000;
/** A row lives this much longer in the store than in message time, so that a reader that lags still sees it. */
const rowGraceMs = 3_600_000;
const defaultMaxBytes = 1_048_576;
/** Room that a batch needs beside its records. */
const batchOverhead = 1_024;
const maxReason = 1_000;

/** The row that remembers a call until its answer comes, so that a second answer is known as a repeat. */
export const callRow = (id: string): string => rowOf('$calls', id);

/** The row of a place; throws where the place lies in another partition or belongs to another stage. */
export function rowOfPlace(
  place: StagePlace,
  { stage, partition, partitionsOf }: Pick<Scope, 'stage' | 'partition' | 'partitionsOf'>,
): string {
  const input: Topic = stage.input;
  const isHere = place.owner === undefined || partitionOf(place.owner, partitionsOf(input.name)) === partition;
  if (place.projection.stage !== stage.name || !isHere) {
    throw new RangeError('a place of another partition or stage');
  }
  return rowOf(place.projection.name, place.key);
}

/**
 * Turns the effects of one message into records, rows and timers. Throws where an effect breaks a rule of the stage, and
 * `OutputTooLarge`; nothing has happened then.
 */
export function applyEffects(scope: Scope, effects: readonly Effect[]): MessageChanges {
  const { stage, codec, partition, record, message, silent } = scope;
  const input: Topic = stage.input;
  const traceparent = scope.traceparent ?? passedOn(record.traceparent);
  const outputs: OutgoingRecord[] = [];
  const rows: [string, Row | undefined][] = [];
  const writes: RowWrite[] = [];
  const timers: [string, TimerWrite][] = [];
  const calls: PendingCall[] = [];
  const rejected: ErrorCode[] = [];

  const make = (topic: Topic, value: unknown, effect: string): OutgoingRecord => {
    const key = topic.key(value);
    return {
      topic: topic.name,
      partition: partitionOf(key, scope.partitionsOf(topic.name)),
      key: Buffer.from(key, 'utf8'),
      value: codec.encode(topic, value),
      header: formatHeader({
        rootId: message.rootId,
        causeId: message.id,
        from: { topic: input.name, partition, offset: record.offset, effect },
      }),
      ...(traceparent !== undefined && { traceparent }),
    };
  };

  /** Sends what the shell itself says of a message, which always fits. */
  const send = (topic: Topic, value: unknown, effect: string): void => {
    outputs.push(make(topic, value, effect));
  };

  const decided = (
    status: Decision['status'],
    name: string,
    more: { readonly reason?: string; readonly about?: About; readonly rootId?: string },
  ): void => {
    if (silent) return;
    const decision: Decision = {
      rootId: more.rootId ?? message.rootId,
      stage: stage.name,
      status,
      ...(more.reason !== undefined && { reason: more.reason.slice(0, maxReason) }),
      at: message.at,
      from: `${input.name}/${partition}/${record.offset}`,
      about: { ...scope.about, ...more.about },
    };
    send(decisions as Topic, decision, `outcome:${name}`);
  };

  const keep = (row: string, value: unknown, expireAt: number | undefined): void => {
    if (expireAt === undefined) {
      rows.push([row, { value }]);
      writes.push({ row, json: JSON.stringify({ v: value }) });
      return;
    }
    rows.push([row, { value, expireAt }]);
    const lifetimeMs = Math.max(0, expireAt - message.at) + rowGraceMs;
    writes.push({ row, json: JSON.stringify({ v: value, x: expireAt }), lifetimeMs });
  };

  const emit = ({ topic, value, name }: Emit, index: number): void => {
    if (!stage.outputs.includes(topic)) throw new RangeError('a topic that the stage does not declare');
    const most = (topic.maxBytes ?? defaultMaxBytes) - batchOverhead;
    // An output that its topic refuses rejects the message, and then nothing is kept: so it is looked at silently too.
    if (silent && codec.bytesAtMost(topic, value) < most / 2) return;
    const made = make(topic, value, name ?? String(index));
    const bytes = (made.value?.length ?? 0) + (made.key?.length ?? 0) + (made.header?.length ?? 0);
    if (bytes > most) throw new OutputTooLarge(topic.name, bytes);
    if (!silent) outputs.push(made);
  };

  const put = ({ place, value, expireAt }: Put): void => keep(rowOfPlace(place, scope), value, expireAt);

  const later = ({ key, dueAt, value }: Later, index: number): void => {
    if (partitionOf(input.key(value), scope.partitionsOf(input.name)) !== partition) {
      throw new RangeError('a timer for another partition');
    }
    // It would fail when it is due, again and again, with no record left to reject.
    codec.encode(input, value);
    const json = JSON.stringify({ rootId: message.rootId, causeId: message.id, value });
    timers.push([key, { set: { key, id: effectId(message.id, String(index)), dueAt, json } }]);
  };

  const call = (effect: Call, request: CallRequest, index: number): void => {
    const id = effectId(message.id, String(index));
    keep(callRow(id), true, message.at + request.timeoutMs + callGraceMs);
    calls.push({
      id,
      rootId: message.rootId,
      causeId: message.id,
      call: effect,
      ...(traceparent !== undefined && { traceparent }),
    });
  };

  const outcome = ({ status, ...more }: Outcome, index: number): void => {
    const { agentUid = '', bindingName } = more.about ?? {};
    decided(status, bindingName === undefined ? String(index) : bindingKey({ agentUid, name: bindingName }), more);
  };

  const reject = ({ code, details, part, about }: Reject): void => {
    rejected.push(code);
    if (silent) return;
    const letter = {
      rootId: message.rootId,
      stage: stage.name,
      code,
      details,
      ...(part !== undefined && { part }),
      topic: input.name,
      partition,
      offset: String(record.offset),
      at: message.at,
      ...(record.key !== null && { key: record.key.toString('base64') }),
      ...(record.value !== null && { value: record.value.toString('base64') }),
      ...(record.header !== undefined && { header: record.header }),
    };
    send(deadLetters as Topic, letter, `dead:${part ?? ''}`);
    decided('dead_letter', part ?? '', { reason: code, ...(about !== undefined && { about }) });
  };

  for (const [index, effect] of effects.entries()) {
    switch (effect.do) {
      case 'emit':
        emit(effect, index);
        break;
      case 'put':
        put(effect);
        break;
      case 'remove': {
        const row = rowOfPlace(effect.place, scope);
        rows.push([row, undefined]);
        writes.push({ row, json: undefined });
        break;
      }
      case 'later':
        later(effect, index);
        break;
      case 'cancel':
        timers.push([effect.key, { clear: effect.key }]);
        break;
      case 'call':
        call(effect, effect.request, index);
        break;
      case 'outcome':
        outcome(effect, index);
        break;
      case 'reject':
        reject(effect);
        break;
    }
  }
  return { outputs, rows, writes, timers, calls, rejected };
}
