/** What kafkajs asks to be encoded: one record of a batch. */
export interface RecordToEncode {
  readonly offsetDelta?: number;
  readonly timestampDelta?: number;
  readonly key?: Buffer | string | null;
  readonly value?: Buffer | string | null;
  readonly headers?: Readonly<Record<string, Buffer | string | readonly (Buffer | string)[]>>;
}

/** The member of kafkajs's encoder that records are handed over in. */
export interface Encoded {
  buf: Buffer;
  offset: number;
}

/** The function by which kafkajs encodes a record. */
export type RecordEncoder = (record: RecordToEncode) => Encoded;

/**
 * Writes a record into one buffer of its exact size. Upstream takes 512 zeroed bytes for a record and again for each of its
 * headers, grows them by copying, and computes with BigInt what is nearly always 0. What this does not know is left to it.
 */
export function exactRecordEncoder(upstream: RecordEncoder, wrap: (bytes: Buffer) => Encoded): RecordEncoder {
  return (record) => {
    const { offsetDelta = 0, timestampDelta = 0, key, value, headers = {} } = record;
    const named = Object.entries(headers);
    if (timestampDelta !== 0 || named.some(([, text]) => typeof text !== 'string' && !Buffer.isBuffer(text))) {
      return upstream(record);
    }
    // Attributes and the time, a byte each.
    let body = 2 + varIntBytes(offsetDelta) + fieldBytes(key) + fieldBytes(value) + varIntBytes(named.length);
    // Lists of values went upstream.
    for (const [name, text] of named) body += fieldBytes(name) + fieldBytes(text as Buffer | string);

    const bytes = Buffer.allocUnsafe(varIntBytes(body) + body);
    let at = writeVarInt(bytes, 0, body);
    bytes[at++] = 0;
    bytes[at++] = 0;
    at = writeVarInt(bytes, at, offsetDelta);
    at = writeField(bytes, at, key);
    at = writeField(bytes, at, value);
    at = writeVarInt(bytes, at, named.length);
    for (const [name, text] of named) at = writeField(bytes, writeField(bytes, at, name), text as Buffer | string);
    return wrap(bytes);
  };
}

/** Has the client encode records this way, from the next request on that it loads the code of. `onRecord` sees each. */
export function overrideRecordEncoder(load: NodeJS.Require, onRecord?: () => void): void {
  const path = load.resolve('kafkajs/src/protocol/recordBatch/record/v0');
  // `require` is untyped; the test beside this holds both to these shapes.
  const upstream = load(path) as RecordEncoder;
  const Encoder = load('kafkajs/src/protocol/encoder') as new (size: number) => Encoded;
  const module = load.cache[path];
  if (module === undefined) throw new TypeError('a loaded module is no longer kept');
  module.exports = exactRecordEncoder(upstream, (bytes) => {
    onRecord?.();
    return Object.assign(new Encoder(0), { buf: bytes, offset: bytes.length });
  });
}

type Field = Buffer | string | null | undefined;

const zigZag = (value: number): number => ((value << 1) ^ (value >> 31)) >>> 0;

function varIntBytes(value: number): number {
  let bytes = 1;
  for (let rest = zigZag(value); rest > 0x7f; rest >>>= 7) bytes++;
  return bytes;
}

function writeVarInt(bytes: Buffer, from: number, value: number): number {
  let at = from;
  let rest = zigZag(value);
  for (; rest > 0x7f; rest >>>= 7) bytes[at++] = (rest & 0x7f) | 0x80;
  bytes[at++] = rest;
  return at;
}

const lengthOf = (field: Buffer | string): number =>
  typeof field === 'string' ? Buffer.byteLength(field, 'utf8') : field.length;

const fieldBytes = (field: Field): number =>
  field === null || field === undefined ? 1 : varIntBytes(lengthOf(field)) + lengthOf(field);

/** The length, then the bytes; -1 for nothing. */
function writeField(bytes: Buffer, from: number, field: Field): number {
  if (field === null || field === undefined) return writeVarInt(bytes, from, -1);
  const length = lengthOf(field);
  const at = writeVarInt(bytes, from, length);
  if (typeof field === 'string') bytes.write(field, at, 'utf8');
  else field.copy(bytes, at);
  return at + length;
}
