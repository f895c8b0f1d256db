import type { IncomingRecord, Tail } from '../bus.ts';
import { attempt } from './faults.ts';
import type { MemoryBroker } from './memory-broker.ts';
import { fetchBatch } from './memory-fetch.ts';
import { createGate, type Process } from './process.ts';

/** Reads a topic from its start and goes on until it is closed. */
export async function tailMemoryTopic(options: {
  readonly broker: MemoryBroker;
  readonly process: Process;
  readonly topic: string;
  readonly onRecord: (partition: number, record: IncomingRecord) => void;
}): Promise<Tail> {
  const { broker, process, topic, onRecord } = options;
  let closed = false;

  const follow = (partition: number, bounds: { readonly start: bigint; readonly end: bigint }) => {
    const gate = createGate();
    const caughtUp = Promise.withResolvers<void>();
    const run = async (): Promise<void> => {
      let offset = bounds.start;
      while (!closed) {
        if (offset >= bounds.end) caughtUp.resolve();
        const batch = await fetchBatch({ broker, process, topic, partition, offset, wake: gate.open });
        if (batch === undefined) await gate.passed();
        for (const record of batch?.records ?? []) {
          if (!closed) onRecord(partition, record);
        }
        offset = batch?.next ?? offset;
      }
    };
    return { gate, caughtUp: caughtUp.promise, running: run() };
  };

  const bounds = await attempt(process, broker.settings.faults.busFails, `tail ${topic}`, () => {
    broker.log.boundsOf(topic, 0);
    return broker.log.bounds(topic) ?? [];
  });
  const followers = bounds.map((each, partition) => follow(partition, each));
  return {
    ready: Promise.all(followers.map((follower) => follower.caughtUp)).then(() => undefined),
    async close() {
      closed = true;
      for (const { gate } of followers) gate.open();
      await Promise.all(followers.map((follower) => follower.running));
    },
  };
}
