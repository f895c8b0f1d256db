import type { Topic } from '../../schemas/define.ts';
import type { Table } from '../stage/stage.ts';

/** A table of these values, in the order of their keys, as the shell reads it from a compacted topic. */
export function tableOf<V>(topic: Topic<V>, values: readonly V[]): Table<V> {
  const byKey = new Map(values.map((value) => [topic.key(value), value]));
  const all = [...byKey].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, value]) => value);
  return {
    get: (key) => byKey.get(key),
    by: (index) => all.filter((value) => topic.index?.(value) === index),
    all: () => all,
  };
}
