import type { IncomingRecord, RecordBatch } from '../bus.ts';
import {
  type AbortedTransactions,
  type Cluster,
  type FetchedMessage,
  type KafkaLimits,
  withoutAborted,
} from './client.ts';

/** What one partition gave: the records from `from` on. `next` passes control records and compacted ones too. */
export interface Fetched extends RecordBatch {
  readonly partition: number;
  readonly from: bigint;
}

/** Reads from one broker, which leads all of these partitions. Rejects with the client's own errors. */
export async function fetchFrom(
  cluster: Cluster,
  request: {
    readonly nodeId: string;
    readonly topic: string;
    readonly positions: ReadonlyMap<number, bigint>;
    readonly waitMs: number;
    readonly limits: KafkaLimits;
  },
): Promise<readonly Fetched[]> {
  const { nodeId, topic, positions, waitMs, limits } = request;
  const broker = await cluster.findBroker({ nodeId });
  // The client leaves the answer untyped; this is what version 4 and later of its decoder give.
  const answer: {
    readonly responses: readonly {
      readonly partitions: readonly {
        readonly partition: number;
        readonly highWatermark: string;
        readonly abortedTransactions: AbortedTransactions;
        readonly messages: readonly FetchedMessage[];
      }[];
    }[];
  } = await broker.fetch({
    maxWaitTime: waitMs,
    minBytes: 1,
    maxBytes: limits.fetchBytes,
    topics: [
      {
        topic,
        partitions: [...positions].map(([partition, offset]) => ({
          partition,
          fetchOffset: String(offset),
          maxBytes: limits.fetchPartitionBytes,
        })),
      },
    ],
  });
  return answer.responses
    .flatMap(({ partitions }) => partitions)
    .flatMap((fetched) => {
      const from = positions.get(fetched.partition);
      if (from === undefined) return [];
      const records = withoutAborted(fetched)
        .filter((message) => !message.isControlRecord && BigInt(message.offset) >= from)
        .map(recordOf);
      return [
        {
          partition: fetched.partition,
          from,
          records,
          next: endOf(fetched.messages, from),
          end: BigInt(fetched.highWatermark),
        },
      ];
    });
}

/** The offset after the last fetched batch, whose newest records may have been compacted away. */
function endOf(messages: readonly FetchedMessage[], from: bigint): bigint {
  const last = messages.at(-1);
  if (last === undefined) return from;
  const batch = last.batchContext;
  const offset = batch === undefined ? BigInt(last.offset) : BigInt(batch.firstOffset) + BigInt(batch.lastOffsetDelta);
  return offset + 1n > from ? offset + 1n : from;
}

const recordOf = (message: FetchedMessage): IncomingRecord => ({
  offset: BigInt(message.offset),
  at: Number(message.timestamp),
  key: message.key,
  value: message.value,
  header: textOf(message.headers.sb),
  traceparent: textOf(message.headers.traceparent),
});

/** A header's text; the first one where somebody wrote several. */
function textOf(header: FetchedMessage['headers'][string]): string | undefined {
  const first = Array.isArray(header) ? header[0] : header;
  return first?.toString('utf8');
}
