import type { Keep, Topic } from '../schemas/define.ts';

/** What a topic should be when it is created. `config` has the broker's own names. */
export interface TopicShape {
  readonly name: string;
  readonly partitions: number;
  readonly replicas: number;
  readonly config: Readonly<Record<string, string>>;
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const defaultMaxBytes = 1_048_576;

/** How long a topic keeps its records, in the broker's own words. */
function retentionOf(keep: Keep): Record<string, string> {
  if (keep === 'compacted') {
    return {
      'cleanup.policy': 'compact',
      'min.cleanable.dirty.ratio': '0.1',
      'segment.ms': String(hourMs),
      // A reader that begins before a null was written has this long to reach it.
      'delete.retention.ms': String(dayMs),
      'max.compaction.lag.ms': String(dayMs),
    };
  }
  const retentionMs = keep === 'forever' ? -1 : keep.days * dayMs;
  return { 'cleanup.policy': 'delete', 'retention.ms': String(retentionMs), 'retention.bytes': '-1' };
}

/** What a topic is created as. */
export function topicShapeOf(
  topic: Pick<Topic, 'name' | 'keep' | 'maxBytes'>,
  deployment: { readonly partitions: number; readonly replicas: number },
): TopicShape {
  return {
    name: topic.name,
    partitions: deployment.partitions,
    replicas: deployment.replicas,
    config: {
      ...retentionOf(topic.keep),
      'message.timestamp.type': 'LogAppendTime',
      // Whatever a client from outside compresses with, readers here get records that they can decode.
      'compression.type': 'uncompressed',
      'max.message.bytes': String(topic.maxBytes ?? defaultMaxBytes),
      // With three brokers one may be away; with fewer, two would stop all writes as soon as one is.
      ...(deployment.replicas >= 3 && { 'min.insync.replicas': '2' }),
    },
  };
}
