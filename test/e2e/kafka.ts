import { type Admin, AssignerProtocol, Kafka, logLevel, Partitioners, type RetryOptions } from 'kafkajs';
import type { Offsets } from './checker/log.ts';

/** A client from outside: what a test knows of the log beside the product. */
export interface OutsideClient {
  /** Publishes JSON in the Confluent wire format, in order. */
  readonly publish: (
    topic: string,
    records: readonly { readonly key: string; readonly fact: unknown }[],
  ) => Promise<void>;
  /** Publishes bytes as they are. */
  readonly publishBytes: (topic: string, key: string, value: Buffer) => Promise<string>;
  /** The records that a topic has held so far. */
  readonly held: (topic: string) => Promise<number>;
  /** Where the partitions of some topics end now. */
  readonly ends: (topics: readonly string[]) => Promise<Offsets>;
  /** The records that a stage has committed of its topic. */
  readonly committed: (stage: string, topic: string) => Promise<number>;
  /** Which partitions each member of a stage's group was given, by client id; undefined while the group is not settled. */
  readonly owners: (stage: string) => Promise<ReadonlyMap<string, readonly number[]> | undefined>;
  readonly close: () => Promise<void>;
}

/** Connects a client from outside. `retry` is how long it tries by itself while the broker is away. */
export async function connectOutside(
  at: { readonly kafkaBrokers: string; readonly schemaRegistryUrl: string },
  retry: RetryOptions = {},
): Promise<OutsideClient> {
  const kafka = new Kafka({ brokers: at.kafkaBrokers.split(','), clientId: 'e2e', logLevel: logLevel.NOTHING, retry });
  const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner });
  const admin = kafka.admin();
  await Promise.all([producer.connect(), admin.connect()]);
  const schemas = new Map<string, number>();

  const schemaOf = async (topic: string): Promise<number> => {
    const known = schemas.get(topic);
    if (known !== undefined) return known;
    const answer = await fetch(`${at.schemaRegistryUrl}/subjects/${topic}-value/versions/latest`);
    // The registry's API says so.
    const { id } = (await answer.json()) as { id: number };
    schemas.set(topic, id);
    return id;
  };

  return {
    async publish(topic, records) {
      const head = Buffer.alloc(5);
      head.writeInt32BE(await schemaOf(topic), 1);
      const messages = records.map(({ key, fact }) => ({
        key,
        value: Buffer.concat([head, Buffer.from(JSON.stringify(fact))]),
      }));
      await producer.send({ topic, messages, acks: -1 });
    },
    async publishBytes(topic, key, value) {
      const [sent] = await producer.send({ topic, messages: [{ key, value }], acks: -1 });
      return `${topic}/${sent?.partition}/${sent?.baseOffset}`;
    },
    held: (topic) => heldOf(admin, topic),
    async ends(topics) {
      const ends = new Map<string, bigint>();
      for (const topic of topics) {
        for (const { partition, high } of await admin.fetchTopicOffsets(topic))
          ends.set(`${topic}/${partition}`, BigInt(high));
      }
      return ends;
    },
    async owners(stage) {
      const { groups } = await admin.describeGroups([`signalbox.${stage}`]);
      const [group] = groups;
      if (group?.state !== 'Stable') return undefined;
      return new Map(
        group.members.map(({ clientId, memberAssignment }) => {
          const assigned = AssignerProtocol.MemberAssignment.decode(memberAssignment)?.assignment ?? {};
          return [clientId, Object.values(assigned).flat()];
        }),
      );
    },
    async committed(stage, topic) {
      const [read] = await admin.fetchOffsets({ groupId: `signalbox.${stage}`, topics: [topic] });
      return (read?.partitions ?? []).reduce((sum, { offset }) => sum + Math.max(0, Number(offset)), 0);
    },
    async close() {
      await Promise.all([producer.disconnect(), admin.disconnect()]);
    },
  };
}

const heldOf = async (admin: Admin, topic: string): Promise<number> =>
  (await admin.fetchTopicOffsets(topic)).reduce((sum, { high }) => sum + Number(high), 0);

/** The stages of the pipeline, upstream first, with what each reads and what it sends on. */
export const pipelineStages = [
  { stage: 'normalizer', input: 'raw-provider-facts', output: 'normalized-facts' },
  { stage: 'filter', input: 'normalized-facts', output: 'accepted-facts' },
  { stage: 'mirror-projector', input: 'accepted-facts', output: 'actor-events' },
  { stage: 'decision-journal', input: 'decisions', output: undefined },
] as const;

/**
 * Whether nothing moves any more: asked upstream first, so that what a stage has committed lies before the next one by
 * the time that one is asked.
 */
export async function isSettled(client: OutsideClient): Promise<boolean> {
  for (const { stage, input } of pipelineStages) {
    const held = await client.held(input);
    if ((await client.committed(stage, input)) < held) return false;
  }
  return true;
}
