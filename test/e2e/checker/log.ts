import { randomUUID } from 'node:crypto';
import { Kafka, logLevel } from 'kafkajs';

/** A record as it lies in the log, read without any code of the product. */
export interface LogRecord {
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint;
  readonly at: number;
  readonly key: string;
  /** The JSON behind the frame; undefined when the bytes are no frame, or were not read. */
  readonly value: unknown;
  readonly rootId?: string;
  /** The id of the record that it was made from, or that set it as a timer. */
  readonly causeId?: string;
  /** `<topic>/<partition>/<offset>/<effect>` of the record that it was made from. */
  readonly from?: string;
  /** The id of the timer that it is: a stage told itself, and no record is its origin. */
  readonly timerId?: string;
  readonly traceparent?: string;
}

/** All records of some topics, each topic in the order of its partitions and offsets. */
export type Log = ReadonlyMap<string, readonly LogRecord[]>;

/** What a record is known by when it comes again; undefined for one from outside. */
export const originOf = ({ from, timerId }: LogRecord): string | undefined => from ?? timerId;

export const placeOf = ({ topic, partition, offset }: LogRecord): string => `${topic}/${partition}/${offset}`;

/** A zero byte, four bytes of a schema id, JSON. */
export function readFrame(bytes: Buffer): unknown {
  if (bytes.length < 6 || bytes[0] !== 0) return undefined;
  return JSON.parse(bytes.toString('utf8', 5));
}

/** `1`, root, cause, then fields with a tag: parted by spaces, percent-encoded. */
export function readHeader(bytes: Buffer | undefined): Pick<LogRecord, 'rootId' | 'causeId' | 'from' | 'timerId'> {
  const [version, root, cause, ...fields] = bytes?.toString('utf8').split(' ') ?? [];
  if (version !== '1' || root === undefined || cause === undefined) return {};
  const field = (tag: string): string | undefined => {
    const found = fields.find((each) => each.startsWith(tag));
    return found === undefined ? undefined : decodeURIComponent(found.slice(tag.length));
  };
  const [from, timerId] = [field('f='), field('ti=')];
  return {
    rootId: decodeURIComponent(root),
    causeId: decodeURIComponent(cause),
    ...(from !== undefined && { from }),
    ...(timerId !== undefined && { timerId }),
  };
}

/** Offsets by `<topic>/<partition>`. */
export type Offsets = ReadonlyMap<string, bigint>;

/** What of some topics is read: unless said otherwise, everything from the first record that is kept to the end now. */
export interface Wanted {
  /** A value that concerns nobody stays unread. */
  readonly concerns?: (topic: string, value: Buffer) => boolean;
  readonly from?: Offsets | undefined;
  /** The first offset that is not read any more. */
  readonly to?: Offsets | undefined;
}

/** Reads topics with a client and a group of its own. */
export async function readLog(
  brokers: readonly string[],
  topics: readonly string[],
  wanted: Wanted = {},
): Promise<Log> {
  const { concerns = () => true } = wanted;
  const kafka = new Kafka({ brokers: [...brokers], clientId: 'checker', logLevel: logLevel.NOTHING });
  const [admin, groupId] = [kafka.admin(), `checker-${randomUUID()}`];
  const consumer = kafka.consumer({ groupId, maxWaitTimeInMs: 100 });
  await Promise.all([admin.connect(), consumer.connect()]);
  const records = new Map<string, LogRecord[]>(topics.map((topic) => [topic, []]));
  const left = new Map<string, { readonly start: bigint; readonly end: bigint }>();
  const unwanted: { readonly topic: string; readonly partitions: number[] }[] = [];
  for (const topic of topics) {
    for (const { partition, low, high } of await admin.fetchTopicOffsets(topic)) {
      const name = `${topic}/${partition}`;
      const [start, end] = [wanted.from?.get(name) ?? BigInt(low), wanted.to?.get(name) ?? BigInt(high)];
      if (end > start && end > BigInt(low)) left.set(name, { start, end });
      else unwanted.push({ topic, partitions: [partition] });
    }
  }
  const ranges = new Map(left);
  const done = Promise.withResolvers<void>();
  if (left.size === 0) done.resolve();
  consumer.on('consumer.crash', ({ payload }) => done.reject(payload.error));
  await consumer.subscribe({ topics: [...topics], fromBeginning: true });
  await consumer.run({
    autoCommit: false,
    async eachBatch({ batch: { topic, partition, messages } }) {
      const name = `${topic}/${partition}`;
      const { start, end } = ranges.get(name) ?? { start: 0n, end: 0n };
      for (const { offset, timestamp, key, value, headers } of messages) {
        if (BigInt(offset) >= end || BigInt(offset) < start) continue;
        const sb = headers?.sb;
        const traceparent = headers?.traceparent?.toString();
        records.get(topic)?.push({
          topic,
          partition,
          offset: BigInt(offset),
          at: Number(timestamp),
          key: key?.toString('utf8') ?? '',
          value: value !== null && concerns(topic, value) ? readFrame(value) : undefined,
          ...readHeader(Buffer.isBuffer(sb) ? sb : undefined),
          ...(traceparent !== undefined && { traceparent }),
        });
      }
      if (BigInt(messages.at(-1)?.offset ?? -1) + 1n >= end) left.delete(name);
      if (left.size === 0) done.resolve();
    },
  });
  consumer.pause(unwanted);
  for (const name of wanted.from?.keys() ?? []) {
    const [topic = '', partition] = name.split('/');
    const start = ranges.get(name)?.start;
    if (start !== undefined) consumer.seek({ topic, partition: Number(partition), offset: String(start) });
  }
  await done.promise;
  await consumer.disconnect();
  await admin.deleteGroups([groupId]);
  await admin.disconnect();
  for (const list of records.values()) {
    list.sort((a, b) => a.partition - b.partition || (a.offset < b.offset ? -1 : 1));
  }
  return records;
}

/** What a reader sees who drops every record whose origin came up before; in the order of the log. */
export function firstAppearances(records: readonly LogRecord[]): readonly LogRecord[] {
  const seen = new Set<string>();
  return records.filter((record) => {
    const origin = originOf(record);
    if (origin === undefined) return true;
    const isNew = !seen.has(origin);
    seen.add(origin);
    return isNew;
  });
}

/** Each record with the time that decisions on it know: of its partition the latest so far, repeats included. */
export function withTimes(records: readonly LogRecord[]): readonly LogRecord[] {
  const latest = new Map<number, number>();
  return records.map((record) => {
    const at = Math.max(latest.get(record.partition) ?? 0, record.at);
    latest.set(record.partition, at);
    return { ...record, at };
  });
}
