import { hash } from 'node:crypto';

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
  return `~${hash('sha256', id, 'base64url')}`;
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

// Printable ASCII without the space, which parts the fields, and the percent sign, which escapes.
const plain = /^[!-$&-~]*$/;

const escaped = (text: string): string => (plain.test(text) ? text : encodeURIComponent(text));
const unescaped = (text: string): string => (text.includes('%') ? decodeURIComponent(text) : text);

/** The header's text: `1`, then root, cause and tagged fields, parted by spaces; what is not plain is percent-encoded. */
export function formatHeader({ rootId, causeId, from, timer, call, redrive, part }: RecordHeader): string {
  let text = `1 ${escaped(rootId)} ${escaped(causeId)}`;
  if (from !== undefined) text += ` f=${escaped(fromText(from))}`;
  if (timer !== undefined) text += ` t=${escaped(timer.key)} ti=${escaped(timer.id)}`;
  if (call !== undefined) text += ` c=${escaped(call.id)}`;
  if (redrive !== undefined) text += ` r=${escaped(redrive)}`;
  if (part !== undefined) text += ` p=${escaped(part)}`;
  return text;
}

/** Reads a header; undefined when the text is not one, so that a record from outside counts as one without. */
export function parseHeader(text: string | undefined): RecordHeader | undefined {
  if (text === undefined) return undefined;
  const [version, root, cause, ...tagged] = text.split(' ');
  if (version !== '1' || root === undefined || cause === undefined) return undefined;
  try {
    return { rootId: unescaped(root), causeId: unescaped(cause), ...fieldsOf(tagged) };
  } catch (cause_) {
    if (cause_ instanceof URIError) return undefined;
    throw cause_;
  }
}

function fieldsOf(tagged: readonly string[]): Partial<RecordHeader> {
  const fields: { -readonly [K in keyof RecordHeader]?: RecordHeader[K] } = {};
  let timerKey: string | undefined;
  for (const field of tagged) {
    const equals = field.indexOf('=');
    const value = unescaped(field.slice(equals + 1));
    switch (field.slice(0, Math.max(equals, 0))) {
      case 'f': {
        const from = parseFrom(value);
        if (from !== undefined) fields.from = from;
        break;
      }
      case 't':
        timerKey = value;
        break;
      case 'ti':
        if (timerKey !== undefined) fields.timer = { key: timerKey, id: value };
        break;
      case 'c':
        fields.call = { id: value };
        break;
      case 'r':
        fields.redrive = value;
        break;
      case 'p':
        fields.part = value;
        break;
    }
  }
  return fields;
}
