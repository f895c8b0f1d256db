import { BusError } from '../../errors.ts';
import type { IncomingRecord, OutgoingRecord, TopicInspection, TopicSpec } from '../bus.ts';

/** First kept and next offset of a partition. */
export interface Bounds {
  readonly start: bigint;
  readonly end: bigint;
}

/** The topics of the twin. Compaction and retention do not happen by themselves. */
export interface MemoryLog {
  readonly create: (spec: Pick<TopicSpec, 'name' | 'partitions'> & Partial<TopicSpec>) => void;
  readonly inspect: (topic: string) => TopicInspection | undefined;
  /** Bounds by partition; undefined when the topic does not exist. */
  readonly bounds: (topic: string) => readonly Bounds[] | undefined;
  /** The bounds of one partition; throws `topic-missing`. */
  readonly boundsOf: (topic: string, partition: number) => Bounds;
  /** Appends to the partitions that the records name. */
  readonly append: (records: readonly OutgoingRecord[]) => void;
  readonly read: (topic: string, partition: number, offset: bigint, limit: number) => readonly IncomingRecord[];
  /** Calls once, when the next record is appended to the partition. */
  readonly onAppend: (topic: string, partition: number, wake: () => void) => void;
  /** Everything that is kept, by partition. */
  readonly records: (topic: string) => readonly (readonly IncomingRecord[])[];
  /** Drops the records below an offset, as retention does. */
  readonly truncate: (topic: string, partition: number, start: bigint) => void;
}

interface Partition {
  start: bigint;
  lastAt: number;
  readonly records: IncomingRecord[];
  readonly waiting: Set<() => void>;
}

/** Makes an empty log. `changed` is called after each append. */
export function createMemoryLog(options: { readonly now: () => number; readonly changed: () => void }): MemoryLog {
  const topics = new Map<string, readonly Partition[]>();
  const inspections = new Map<string, TopicInspection>();

  const partitionsOf = (topic: string): readonly Partition[] => {
    const partitions = topics.get(topic);
    if (partitions === undefined) throw new BusError('topic-missing', { topic });
    return partitions;
  };
  const partitionAt = (topic: string, partition: number): Partition => {
    const found = partitionsOf(topic)[partition];
    if (found === undefined) throw new BusError('topic-missing', { topic, partition });
    return found;
  };
  const boundsIn = ({ start, records }: Partition): Bounds => ({ start, end: start + BigInt(records.length) });

  return {
    create({ name, partitions, replicas = 1, config = {} }) {
      if (topics.has(name)) return;
      const empty = (): Partition => ({ start: 0n, lastAt: 0, records: [], waiting: new Set() });
      topics.set(name, Array.from({ length: partitions }, empty));
      inspections.set(name, { partitions, replicas, inSync: replicas, leaderless: 0, config });
    },
    inspect: (topic) => inspections.get(topic),
    bounds: (topic) => topics.get(topic)?.map(boundsIn),
    boundsOf: (topic, partition) => boundsIn(partitionAt(topic, partition)),
    append(records) {
      const places = records.map((record) => partitionAt(record.topic, record.partition));
      records.forEach(({ key, value, header, traceparent }, index) => {
        const place = places[index];
        if (place === undefined) return;
        place.lastAt = Math.max(place.lastAt, options.now());
        const offset = boundsIn(place).end;
        place.records.push({ offset, at: place.lastAt, key, value, header, traceparent });
      });
      options.changed();
      for (const { waiting } of new Set(places)) {
        const wakes = [...waiting];
        waiting.clear();
        for (const wake of wakes) wake();
      }
    },
    read(topic, partition, offset, limit) {
      const { start, records } = partitionAt(topic, partition);
      const index = Number(offset > start ? offset - start : 0n);
      return records.slice(index, index + limit);
    },
    onAppend: (topic, partition, wake) => void partitionAt(topic, partition).waiting.add(wake),
    records: (topic) => partitionsOf(topic).map((partition) => [...partition.records]),
    truncate(topic, partition, start) {
      const place = partitionAt(topic, partition);
      if (start < place.start) return;
      place.start += BigInt(place.records.splice(0, Number(start - place.start)).length);
    },
  };
}
