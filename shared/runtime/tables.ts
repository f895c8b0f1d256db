import type { Topic } from '../../schemas/define.ts';
import { BusError } from '../errors.ts';
import type { Table } from '../stage/stage.ts';
import type { Bus, IncomingRecord } from './bus.ts';
import type { Clock } from './clock.ts';
import type { Codec, Decoded } from './codec.ts';

/** A record of a compacted topic that could not be read: its key keeps the last good value. */
export interface TableProblem {
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint;
  readonly code: string;
}

/** A compacted topic held in memory, kept up to date. */
export interface OpenTable<V> {
  readonly table: Table<V>;
  /** Resolves when all that the topic held at the start is in the table. */
  readonly ready: Promise<void>;
  /** Its rows now. */
  readonly size: () => number;
  readonly close: () => Promise<void>;
}

/** A table over a plain map, searched by the topic's index. Answers are in the order of the keys. */
export function tableOf<V>(topic: Pick<Topic<V>, 'index'>): Table<V> & {
  readonly set: (key: string, value: V) => void;
  readonly delete: (key: string) => void;
  readonly size: () => number;
} {
  const values = new Map<string, V>();
  const byIndex = new Map<string, Set<string>>();
  let sorted = new Map<string, readonly V[]>();

  const listOf = (keys: Iterable<string>): readonly V[] =>
    [...keys].sort().flatMap((key) => {
      const value = values.get(key);
      return value === undefined ? [] : [value];
    });
  const forget = (key: string): void => {
    const value = values.get(key);
    values.delete(key);
    sorted = new Map();
    if (value === undefined || topic.index === undefined) return;
    byIndex.get(topic.index(value))?.delete(key);
  };

  return {
    get: (key) => values.get(key),
    all: () => listOf(values.keys()),
    by(index) {
      const known = sorted.get(index);
      if (known !== undefined) return known;
      const list = listOf(byIndex.get(index) ?? []);
      sorted.set(index, list);
      return list;
    },
    set(key, value) {
      forget(key);
      values.set(key, value);
      if (topic.index === undefined) return;
      const index = topic.index(value);
      const keys = byIndex.get(index) ?? new Set();
      byIndex.set(index, keys.add(key));
    },
    delete: forget,
    size: () => values.size,
  };
}

/** Reads a compacted topic whole and follows it. A null deletes; a bad record is reported and changes nothing. */
export async function openTable<V>(options: {
  readonly topic: Topic<V>;
  readonly bus: Bus;
  readonly codec: Codec;
  readonly clock: Clock;
  readonly retryMs: number;
  readonly onProblem: (problem: TableProblem) => void;
}): Promise<OpenTable<V>> {
  const { topic, bus, codec, clock } = options;
  const table = tableOf(topic);
  const closed = new AbortController();
  let last: Promise<void> = Promise.resolve();

  /** Waits while the registry is away; undefined when the table was closed meanwhile. */
  const decode = async (value: Buffer | null): Promise<Decoded<V> | undefined> => {
    while (!closed.signal.aborted) {
      try {
        return await codec.decode(topic, value);
      } catch (cause) {
        if (!(cause instanceof BusError)) throw cause;
        await clock.sleep(options.retryMs, closed.signal);
      }
    }
    return undefined;
  };

  const apply = async (partition: number, record: IncomingRecord): Promise<void> => {
    const report = (code: string) => options.onProblem({ topic: topic.name, partition, offset: record.offset, code });
    if (record.key === null) return report('key-absent');
    const key = record.key.toString('utf8');
    if (record.value === null) return table.delete(key);
    const decoded = await decode(record.value);
    if (decoded === undefined) return;
    if (decoded.type !== 'value') return report(decoded.type === 'poison' ? decoded.code : decoded.type);
    if (topic.key(decoded.value) !== key) return report('key-differs');
    table.set(key, decoded.value);
  };

  const tail = await bus.tail(topic.name, (partition, record) => {
    // One after another, so that a value whose schema had to be looked up is not overtaken by a newer one.
    last = last.then(() => (closed.signal.aborted ? undefined : apply(partition, record)));
  });

  return {
    table,
    ready: tail.ready.then(() => last),
    size: table.size,
    async close() {
      closed.abort();
      await tail.close();
    },
  };
}
