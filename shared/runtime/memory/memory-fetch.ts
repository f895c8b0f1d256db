import type { RecordBatch } from '../bus.ts';
import { persist } from './faults.ts';
import type { MemoryBroker } from './memory-broker.ts';
import type { Process } from './process.ts';

/** Reads the next batch of a partition; undefined at its end, and then `wake` is called when there is more. */
export function fetchBatch(options: {
  readonly broker: MemoryBroker;
  readonly process: Process;
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint;
  readonly wake: () => void;
}): Promise<RecordBatch | undefined> {
  const { broker, process, topic, partition, offset } = options;
  const { log, settings } = broker;
  return persist(process, settings.faults.busFails, `fetch ${topic}/${partition}@${offset}`, () => {
    const { end } = log.boundsOf(topic, partition);
    if (offset >= end) {
      log.onAppend(topic, partition, options.wake);
      return undefined;
    }
    const records = log.read(topic, partition, offset, 1 + process.random.pick(settings.maxBatch));
    return { records, next: (records.at(-1)?.offset ?? offset) + 1n, end };
  });
}
