import type { OutgoingRecord } from '../bus.ts';
import type { Kafka, KafkaLimits, Producer } from './client.ts';
import { failureOf } from './failures.ts';

type Topics = NonNullable<Parameters<Producer['sendBatch']>[0]['topicMessages']>;

/** Sends produce requests. */
export interface Requests {
  readonly connect: () => Promise<void>;
  readonly produce: (records: readonly OutgoingRecord[]) => Promise<void>;
  readonly close: () => Promise<void>;
}

/**
 * Sends each request once and says how it went; repeating it is the caller's. The client's own repeats skip a broker that
 * has answered, even when it became the leader of more partitions meanwhile, and would report those as written. After a
 * failure the client is replaced, since nobody knows what it still waits for.
 */
export function createRequests(kafka: Kafka, limits: KafkaLimits): Requests {
  let current: Promise<Producer> | undefined;

  const open = async (): Promise<Producer> => {
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
  };

  const drop = async (): Promise<void> => {
    const dropped = current;
    current = undefined;
    await (await dropped)?.disconnect();
  };

  const connected = (): Promise<Producer> => {
    current ??= open();
    return current;
  };

  return {
    async connect() {
      try {
        await connected();
      } catch (error) {
        current = undefined;
        throw failureOf('connect', error);
      }
    },
    async produce(records) {
      try {
        const producer = await connected();
        await producer.sendBatch({ acks: -1, timeout: limits.requestTimeoutMs, topicMessages: topicsOf(records) });
      } catch (error) {
        const failure = failureOf('produce', error);
        // What is dropped is broken already: how it ends tells nothing more.
        if (failure.code === 'infrastructure-unavailable') drop().catch(() => undefined);
        throw failure;
      }
    },
    close: drop,
  };
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
