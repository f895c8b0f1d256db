import { BusError } from '../errors.ts';
import type { Bus, IncomingRecord } from '../runtime/bus.ts';
import { parseHeader, type RecordHeader } from '../runtime/header.ts';
import type { Position } from './position.ts';

/** A record of the log, where it lies and where it came from. */
export interface LoggedRecord {
  readonly position: Position;
  readonly record: IncomingRecord;
  readonly header: RecordHeader | undefined;
}

/** A stretch of one partition to look through; `limit` bounds what is read. */
export interface Stretch {
  readonly topic: string;
  readonly partition: number;
  readonly from: bigint;
  readonly limit: number;
}

/** Reads the log by position and by stretches. */
export interface LogReader {
  /** The partitions of a topic, with the bounds of each. Throws `topic-missing`. */
  readonly bounds: (topic: string) => Promise<readonly { readonly start: bigint; readonly end: bigint }[]>;
  /** The record at a position; undefined when it has left the topic, or was never there. */
  readonly at: (position: Position) => Promise<LoggedRecord | undefined>;
  readonly scan: (stretch: Stretch) => AsyncGenerator<LoggedRecord, void>;
  /** The first offset at or after an instant. */
  readonly offsetAt: Bus['offsetAt'];
}

const chunk = 1_000;

/** Makes a reader. Bounds are asked for once and remembered: one look at the log is enough for one question. */
export function createLogReader(bus: Bus): LogReader {
  const known = new Map<string, ReturnType<LogReader['bounds']>>();

  const bounds = (topic: string) => {
    const asked =
      known.get(topic) ??
      bus.offsets(topic).then((offsets) => {
        if (offsets === undefined) throw new BusError('topic-missing', { topic });
        return offsets;
      });
    known.set(topic, asked);
    return asked;
  };
  const logged = (topic: string, partition: number, record: IncomingRecord): LoggedRecord => ({
    position: { topic, partition, offset: record.offset },
    record,
    header: parseHeader(record.header),
  });

  return {
    bounds,
    offsetAt: bus.offsetAt,
    async at({ topic, partition, offset }) {
      const bound = (await bounds(topic))[partition];
      if (bound === undefined || offset < bound.start) return undefined;
      const [record] = await bus.read({ topic, partition, offset, limit: 1 });
      return record?.offset === offset ? logged(topic, partition, record) : undefined;
    },
    async *scan({ topic, partition, from, limit }) {
      const bound = (await bounds(topic))[partition];
      if (bound === undefined) return;
      let offset = from;
      if (offset < bound.start) offset = bound.start;
      for (let left = limit; left > 0; ) {
        const records = await bus.read({ topic, partition, offset, limit: Math.min(chunk, left) });
        for (const record of records) yield logged(topic, partition, record);
        const last = records.at(-1);
        if (last === undefined) return;
        offset = last.offset + 1n;
        left -= records.length;
      }
    },
  };
}
