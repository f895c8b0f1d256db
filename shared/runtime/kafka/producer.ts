import type { OutgoingRecord } from '../bus.ts';
import type { Kafka, KafkaLimits, Producer } from './client.ts';
import { failureOf } from './failures.ts';
import { type Replaceable, replaceable } from './replaceable.ts';

type Topics = NonNullable<Parameters<Producer['sendBatch']>[0]['topicMessages']>;

/**
 * A producer that sends a request once and says how it went; repeating it is the caller's. The client's own repeats skip
 * a broker that has answered, even when it became the leader of more partitions meanwhile, and would report those as
 * written.
 */
export function createProducer(kafka: Kafka, limits: KafkaLimits): Replaceable<Producer> {
  return replaceable({
    async connect() {
      const producer = kafka.producer({
        allowAutoTopicCreation: false,
        metadataMaxAge: limits.metadataMaxAgeMs,
        createPartitioner:
          () =>
          ({ message }) => {
            if (message.partition === undefined) throw new RangeError('every record names its partition');
            return message.partition;
          },
        retry: { retries: 0 },
      });
      await producer.connect();
      return producer;
    },
    disconnect: (producer) => producer.disconnect(),
    isSound: (error) => failureOf('produce', error).code === 'record-too-large',
  });
}

/** Makes one produce request. */
export async function produce(
  producer: Replaceable<Producer>,
  records: readonly OutgoingRecord[],
  limits: KafkaLimits,
): Promise<void> {
  const request = { acks: -1, timeout: limits.requestTimeoutMs, topicMessages: topicsOf(records) };
  try {
    await producer.use((client) => client.sendBatch(request));
  } catch (error) {
    throw failureOf('produce', error);
  }
}

function topicsOf(records: readonly OutgoingRecord[]): Topics {
  const topics = new Map<string, Topics[number]['messages']>();
  for (const { topic, partition, key, value, header, traceparent } of records) {
    const messages = topics.get(topic) ?? [];
    topics.set(topic, messages);
    messages.push({
      partition,
      key,
      value,
      ...((header !== undefined || traceparent !== undefined) && {
        headers: { ...(header !== undefined && { sb: header }), ...(traceparent !== undefined && { traceparent }) },
      }),
    });
  }
  return [...topics].map(([topic, messages]) => ({ topic, messages }));
}
