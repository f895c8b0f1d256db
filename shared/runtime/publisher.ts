import type { Topic } from '../../schemas/define.ts';
import { BusError } from '../errors.ts';
import { partitionOf } from '../partition.ts';
import type { Bus, OutgoingRecord } from './bus.ts';
import type { Codec } from './codec.ts';
import type { Sender } from './sender.ts';

/** Writes single values of any topic: for the edge and the command line, which are no stages. */
export interface Publisher {
  /** Resolves with the partition, when all in-sync replicas have the record. Null removes the key of a compacted topic. */
  readonly publish: <V>(
    topic: Topic<V>,
    value: V,
    more?: { readonly traceparent?: string | undefined },
  ) => Promise<{ readonly partition: number }>;
  readonly remove: <V>(topic: Topic<V>, key: string) => Promise<{ readonly partition: number }>;
}

/** Makes a publisher. Throws `topic-missing` on the first use of a topic that does not exist. */
export function createPublisher(options: {
  readonly bus: Bus;
  readonly codec: Codec;
  readonly sender: Sender;
}): Publisher {
  const counts = new Map<string, Promise<number>>();

  const ask = async (topic: string): Promise<number> => {
    const offsets = await options.bus.offsets(topic);
    if (offsets === undefined) throw new BusError('topic-missing', { topic });
    return offsets.length;
  };

  /** Asked once for all who wait for it, so that they go on in the order in which they came. */
  const countOf = (topic: string): Promise<number> => {
    const known = counts.get(topic);
    if (known !== undefined) return known;
    const count = ask(topic);
    counts.set(topic, count);
    count.catch(() => counts.delete(topic));
    return count;
  };

  const append = async (topic: string, key: string, value: Buffer | null, traceparent?: string) => {
    const partition = partitionOf(key, await countOf(topic));
    const record: OutgoingRecord = {
      topic,
      partition,
      key: Buffer.from(key, 'utf8'),
      value,
      ...(traceparent !== undefined && { traceparent }),
    };
    await options.sender.send([record]);
    return { partition };
  };

  return {
    publish: async (topic, value, more) =>
      append(topic.name, topic.key(value), options.codec.encode(topic, value), more?.traceparent),
    remove: (topic, key) => append(topic.name, key, null),
  };
}
