import { createHash } from 'node:crypto';

/**
 * The one header of a record. `from` names the record it was made from and the effect that made it; `rootId` is the
 * fact that all began with, `causeId` the id of the record it was made from. `timer` and `call` mark records that a
 * stage sent to itself: they are recognised by their id, not by a watermark. `redrive` is the position of the dead letter
 * that a redriven record comes from; `part` narrows what is done with it. Without `from`, `causeId` is the record's own id.
 */
export interface RecordHeader {
  readonly rootId: string;
  readonly causeId: string;
  readonly from?: {
    readonly topic: string;
    readonly partition: number;
    readonly offset: bigint;
    readonly effect: string;
  };
  readonly timer?: { readonly key: string; readonly id: string };
  readonly call?: { readonly id: string };
  readonly redrive?: string;
  readonly part?: string;
}

const maxIdLength = 200;

/** The id of an effect: its message's id and its own name, folded into a digest where chains grow long. */
export function effectId(messageId: string, effect: string): string {
  const id = `${messageId}.${effect}`;
  if (id.length <= maxIdLength) return id;
  return `~${createHash('sha256').update(id).digest('base64url')}`;
}

/** Where a record came from, as people read it: `accepted-facts/3/120/iris|desk`. */
export const fromText = (from: NonNullable<RecordHeader['from']>): string =>
  `${from.topic}/${from.partition}/${from.offset}/${from.effect}`;

/** Reads what `fromText` wrote; the effect may be absent and may hold slashes. */
export function parseFrom(text: string): NonNullable<RecordHeader['from']> | undefined {
  const match = /^([^/]+)\/(\d{1,6})\/(\d{1,19})(?:\/(.+))?$/s.exec(text);
  if (match === null) return undefined;
  const [, topic = '', partition = '0', offset = '0', effect = ''] = match;
  return { topic, partition: Number(partition), offset: BigInt(offset), effect };
}

/** The header's text: `1`, then root, cause and tagged fields, percent-encoded and parted by spaces. */
export function formatHeader(header: RecordHeader): string {
  const fields = ['1', encodeURIComponent(header.rootId), encodeURIComponent(header.causeId)];
  if (header.from !== undefined) fields.push(`f=${encodeURIComponent(fromText(header.from))}`);
  if (header.timer !== undefined) {
    fields.push(`t=${encodeURIComponent(header.timer.key)}`, `ti=${encodeURIComponent(header.timer.id)}`);
  }
  if (header.call !== undefined) fields.push(`c=${encodeURIComponent(header.call.id)}`);
  if (header.redrive !== undefined) fields.push(`r=${encodeURIComponent(header.redrive)}`);
  if (header.part !== undefined) fields.push(`p=${encodeURIComponent(header.part)}`);
  return fields.join(' ');
}

/** Reads a header; undefined when the text is not one, so that a record from outside counts as one without. */
export function parseHeader(text: string | undefined): RecordHeader | undefined {
  if (text === undefined) return undefined;
  const [version, root, cause, ...tagged] = text.split(' ');
  if (version !== '1' || root === undefined || cause === undefined) return undefined;
  const tags = new Map<string, string>();
  for (const field of tagged) {
    const equals = field.indexOf('=');
    if (equals > 0) tags.set(field.slice(0, equals), field.slice(equals + 1));
  }
  try {
    const read = (name: string): string | undefined => {
      const value = tags.get(name);
      return value === undefined ? undefined : decodeURIComponent(value);
    };
    const fromField = read('f');
    const from = fromField === undefined ? undefined : parseFrom(fromField);
    const [timerKey, timerId, callId] = [read('t'), read('ti'), read('c')];
    const [redrive, part] = [read('r'), read('p')];
    return {
      rootId: decodeURIComponent(root),
      causeId: decodeURIComponent(cause),
      ...(from !== undefined && { from }),
      ...(timerKey !== undefined && timerId !== undefined && { timer: { key: timerKey, id: timerId } }),
      ...(callId !== undefined && { call: { id: callId } }),
      ...(redrive !== undefined && { redrive }),
      ...(part !== undefined && { part }),
    };
  } catch (cause_) {
    if (cause_ instanceof URIError) return undefined;
    throw cause_;
  }
}
