/** What kafkajs asks to be sent to one partition. */
export interface PartitionToEncode {
  readonly partition: number;
  readonly messages: readonly MessageToEncode[];
  readonly firstSequence?: number;
}

/** One record of it. */
export interface MessageToEncode {
  readonly key?: Buffer | string | null | undefined;
  readonly value?: Buffer | string | null | undefined;
  readonly timestamp?: string | null;
  readonly headers?: Readonly<Record<string, Buffer | string | readonly (Buffer | string)[]>>;
}

/** What kafkajs makes a produce request of. */
export interface ProduceToEncode {
  readonly acks: number;
  readonly timeout: number;
  readonly transactionalId?: string | null;
  readonly producerId?: unknown;
  readonly producerEpoch?: number;
  readonly compression?: number;
  readonly topicData: readonly { readonly topic: string; readonly partitions: readonly PartitionToEncode[] }[];
}

/** The member of kafkajs's encoder that bytes are handed over in. */
export interface Encoded {
  buf: Buffer;
  offset: number;
  /** `buf` up to `offset`. */
  readonly buffer: Buffer;
}

/** A request of kafkajs: how it is made, and what for. */
export interface ClientRequest {
  readonly apiKey: number;
  readonly apiVersion: number;
  readonly encode: () => Promise<Encoded>;
}

/** The function by which kafkajs makes a produce request, version 3 and all later ones that it knows. */
export type ProduceRequest = (request: ProduceToEncode) => ClientRequest;

/** The function by which kafkajs puts the common head before any request. */
export type RequestFrame = (framed: {
  readonly correlationId: number;
  readonly clientId: string | null;
  readonly request: ClientRequest;
}) => Promise<Encoded>;

/** Puts bytes into an encoder of kafkajs. */
export type Wrap = (bytes: Buffer) => Encoded;

/** Computes the CRC-32C of a batch. */
export type Checksum = (bytes: Buffer) => number;

// Of a batch, from its first offset to its number of records; what the checksum is of begins with the attributes.
const batchHeadBytes = 61;
const checkedFrom = 21;
const magic = 2;

/**
 * Writes a produce request into one buffer of its exact size. Upstream takes 512 zeroed bytes for each record, each header
 * and each part around them, grows them by copying, and copies each part into the next one: a record of a full request is
 * copied some ten times. What this does not know (compression, transactions, times of the producer's own, headers of several
 * values) is left to it.
 */
export function exactProduceRequest(upstream: ProduceRequest, wrap: Wrap, checksum: Checksum): ProduceRequest {
  return (request) => {
    const original = upstream(request);
    if (!isPlain(request)) return original;
    return Object.assign(original, { encode: async () => wrap(writeProduce(request, checksum)) });
  };
}

/** Puts the common head before a request with one copy of it, where upstream makes two and grows zeroed buffers for both. */
export function exactRequestFrame(wrap: Wrap): RequestFrame {
  return async ({ correlationId, clientId, request: { apiKey, apiVersion, encode } }) => {
    const payload = await encode();
    const head = 4 + 2 + 2 + 4 + stringBytes(clientId);
    const bytes = Buffer.allocUnsafe(head + payload.offset);
    let at = bytes.writeInt32BE(bytes.length - 4, 0);
    at = bytes.writeInt16BE(apiKey, at);
    at = bytes.writeInt16BE(apiVersion, at);
    at = bytes.writeInt32BE(correlationId, at);
    at = writeString(bytes, at, clientId);
    payload.buf.copy(bytes, at, 0, payload.offset);
    return wrap(bytes);
  };
}

/** Groups records by partition in one pass. Upstream copies each group for each of its records. */
export function groupByPartition<Message>(options: {
  readonly topic: string;
  readonly partitionMetadata: readonly unknown[];
  readonly messages: readonly Message[];
  readonly partitioner: (of: {
    readonly topic: string;
    readonly partitionMetadata: readonly unknown[];
    readonly message: Message;
  }) => number;
}): Record<number, Message[]> {
  const { topic, partitionMetadata, messages, partitioner } = options;
  const groups: Record<number, Message[]> = {};
  if (partitionMetadata.length === 0) return groups;
  for (const message of messages) {
    const partition = partitioner({ topic, partitionMetadata, message });
    const group = groups[partition];
    if (group === undefined) groups[partition] = [message];
    else group.push(message);
  }
  return groups;
}

const isPlain = ({ compression = 0, transactionalId = null, producerId = -1, topicData }: ProduceToEncode): boolean =>
  compression === 0 &&
  transactionalId === null &&
  producerId === -1 &&
  topicData.every(({ partitions }) =>
    partitions.every(({ messages }) =>
      messages.every(
        ({ timestamp, headers }) =>
          (timestamp === undefined || timestamp === null) &&
          (headers === undefined || Object.values(headers).every((text) => !Array.isArray(text))),
      ),
    ),
  );

function writeProduce(request: ProduceToEncode, checksum: Checksum): Buffer {
  const { acks, timeout, topicData, producerEpoch = 0 } = request;
  const now = BigInt(Date.now());
  // The lengths of the records come first: each is written before its record, and all of them make the size of the buffer.
  const lengths: number[] = [];
  const batches: number[] = [];
  let size = 2 + 2 + 4 + 4;
  for (const { topic, partitions } of topicData) {
    size += stringBytes(topic) + 4;
    for (const { messages } of partitions) {
      let batch = batchHeadBytes;
      for (const [index, message] of messages.entries()) {
        const length = recordBytes(message, index);
        lengths.push(length);
        batch += varIntBytes(length) + length;
      }
      batches.push(batch);
      size += 4 + 4 + batch;
    }
  }

  const bytes = Buffer.allocUnsafe(size);
  const nextLength = lengths.values();
  const nextBatch = batches.values();
  let at = writeString(bytes, 0, null);
  at = bytes.writeInt16BE(acks, at);
  at = bytes.writeInt32BE(timeout, at);
  at = bytes.writeInt32BE(topicData.length, at);
  for (const { topic, partitions } of topicData) {
    at = writeString(bytes, at, topic);
    at = bytes.writeInt32BE(partitions.length, at);
    for (const { partition, messages, firstSequence = 0 } of partitions) {
      const batch = nextBatch.next().value ?? 0;
      at = bytes.writeInt32BE(partition, at);
      at = bytes.writeInt32BE(batch, at);
      const start = at;
      at = bytes.writeBigInt64BE(0n, at);
      at = bytes.writeInt32BE(batch - 12, at);
      at = bytes.writeInt32BE(0, at);
      at = bytes.writeInt8(magic, at);
      at = bytes.writeUInt32BE(0, at);
      at = bytes.writeInt16BE(0, at);
      at = bytes.writeInt32BE(messages.length - 1, at);
      at = bytes.writeBigInt64BE(now, at);
      at = bytes.writeBigInt64BE(now, at);
      at = bytes.writeBigInt64BE(-1n, at);
      at = bytes.writeInt16BE(producerEpoch, at);
      at = bytes.writeInt32BE(firstSequence, at);
      at = bytes.writeInt32BE(messages.length, at);
      for (const [index, message] of messages.entries()) {
        at = writeVarInt(bytes, at, nextLength.next().value ?? 0);
        at = writeRecord(bytes, at, message, index);
      }
      bytes.writeUInt32BE(checksum(bytes.subarray(start + checkedFrom, at)), start + checkedFrom - 4);
    }
  }
  return bytes;
}

function recordBytes({ key, value, headers = {} }: MessageToEncode, index: number): number {
  let names = 0;
  // Attributes and the time, a byte each.
  let bytes = 2 + varIntBytes(index) + fieldBytes(key) + fieldBytes(value);
  for (const name of Object.keys(headers)) {
    names++;
    bytes += fieldBytes(name) + fieldBytes(textOf(headers[name]));
  }
  return bytes + varIntBytes(names);
}

function writeRecord(bytes: Buffer, from: number, message: MessageToEncode, index: number): number {
  const { key, value, headers = {} } = message;
  const names = Object.keys(headers);
  let at = from;
  bytes[at++] = 0;
  bytes[at++] = 0;
  at = writeVarInt(bytes, at, index);
  at = writeField(bytes, at, key);
  at = writeField(bytes, at, value);
  at = writeVarInt(bytes, at, names.length);
  for (const name of names) {
    at = writeField(bytes, at, name);
    at = writeField(bytes, at, textOf(headers[name]));
  }
  return at;
}

type Field = Buffer | string | null | undefined;

// Lists of values went upstream.
const textOf = (header: Buffer | string | readonly (Buffer | string)[] | undefined): Field =>
  header as Buffer | string | undefined;

const stringBytes = (text: string | null): number => 2 + (text === null ? 0 : Buffer.byteLength(text, 'utf8'));

function writeString(bytes: Buffer, from: number, text: string | null): number {
  if (text === null) return bytes.writeInt16BE(-1, from);
  const at = bytes.writeInt16BE(Buffer.byteLength(text, 'utf8'), from);
  return at + bytes.write(text, at, 'utf8');
}

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

function fieldBytes(field: Field): number {
  if (field === null || field === undefined) return 1;
  const length = lengthOf(field);
  return varIntBytes(length) + length;
}

/** The length, then the bytes; -1 for nothing. */
function writeField(bytes: Buffer, from: number, field: Field): number {
  if (field === null || field === undefined) return writeVarInt(bytes, from, -1);
  const length = lengthOf(field);
  const at = writeVarInt(bytes, from, length);
  if (typeof field === 'string') bytes.write(field, at, 'utf8');
  else field.copy(bytes, at);
  return at + length;
}
