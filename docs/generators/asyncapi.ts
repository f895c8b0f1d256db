import type { Topic } from '../../schemas/define.ts';
import { jsonSchemaOf, subjectOf } from '../../shared/json-schema.ts';
import type { AnyStage } from '../../shared/stage/index.ts';
import { declaredSchemas } from './declared-schemas.ts';
import { type GeneratedFile, jsonText } from './file.ts';
import { keepText } from './schema-pages.ts';

/** A reference from the document's root. */
const ref = (...path: readonly string[]): { readonly $ref: string } => ({
  $ref: `#/${path.map((part) => part.replaceAll('~', '~0').replaceAll('/', '~1')).join('/')}`,
});

/** Moves references inside a schema to where the schema stands in the document. */
function moved(value: unknown, to: string): unknown {
  if (Array.isArray(value)) return value.map((member) => moved(member, to));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      name === '$ref' && typeof member === 'string' ? member.replace(/^#/, to) : moved(member, to),
    ]),
  );
}

const dayMs = 86_400_000;

function topicConfiguration({ keep, maxBytes }: Topic): Record<string, unknown> {
  const limit = maxBytes === undefined ? {} : { 'max.message.bytes': maxBytes };
  if (keep === 'compacted') return { 'cleanup.policy': ['compact'], ...limit };
  return { 'cleanup.policy': ['delete'], 'retention.ms': keep === 'forever' ? -1 : keep.days * dayMs, ...limit };
}

const channelOf = (topic: Topic): Record<string, unknown> => ({
  address: topic.name,
  title: topic.name,
  summary: topic.summary,
  description: `Kept: ${keepText(topic.keep)}. Equal keys share a partition and keep their order.`,
  messages: { [topic.name]: ref('components', 'messages', topic.name) },
  bindings: {
    kafka: { topic: topic.name, topicConfiguration: topicConfiguration(topic), bindingVersion: '0.5.0' },
  },
});

const messageOf = (topic: Topic): Record<string, unknown> => ({
  name: topic.name,
  summary: topic.summary,
  contentType: 'application/json',
  description: `In the Confluent wire format: a zero byte, the schema's id in four bytes, JSON. Subject ${subjectOf(topic)}.`,
  headers: ref('components', 'schemas', 'headers'),
  payload: {
    schemaFormat: 'application/schema+json;version=draft-07',
    schema: moved(jsonSchemaOf(topic), ref('components', 'messages', topic.name, 'payload', 'schema').$ref),
  },
  bindings: {
    kafka: {
      key: { type: 'string', description: 'Plain UTF-8.', examples: [topic.key(topic.example)] },
      schemaIdLocation: 'payload',
      schemaIdPayloadEncoding: 'confluent',
      bindingVersion: '0.5.0',
    },
  },
  examples: [{ name: 'example', payload: topic.example }],
});

const headers = {
  type: 'object',
  properties: {
    sb: {
      type: 'string',
      description:
        'The root fact, the cause and `from`: the record and the effect that this one was made by. Absent on records from outside.',
    },
    traceparent: { type: 'string', description: 'W3C trace context, only while tracing is on.' },
  },
};

/** Who reads and writes what: the stages, and the programs around them that are no stages. */
export interface Traffic {
  readonly name: string;
  readonly summary: string;
  readonly receives: readonly string[];
  readonly sends: readonly string[];
}

/** What a stage reads and writes: the outcomes and dead letters of every stage among it. */
export const trafficOf = ({ name, summary, input, tables, outputs }: AnyStage): Traffic => ({
  name,
  summary,
  receives: [input, ...Object.values<Topic>(tables ?? {})].map((topic) => topic.name),
  sends: [...new Set([...outputs.map((topic) => topic.name), 'decisions', 'dead-letters'])],
});

const operationsOf = (traffic: readonly Traffic[]): Record<string, unknown> =>
  Object.fromEntries(
    traffic.flatMap(({ name, summary, receives, sends }) => {
      const operation = (action: 'receive' | 'send', topic: string) => [
        `${name}.${action}.${topic}`,
        { action, channel: ref('channels', topic), title: name, summary, tags: [{ name }] },
      ];
      return [
        ...receives.map((topic) => operation('receive', topic)),
        ...sends.map((topic) => operation('send', topic)),
      ];
    }),
  );

/** `docs/asyncapi.json`: all topics, for tools that read AsyncAPI. */
export async function asyncApi(version: string, traffic: readonly Traffic[]): Promise<GeneratedFile> {
  const topics = (await declaredSchemas()).topics.map(({ declaration }) => declaration);
  const byName = (make: (topic: Topic) => Record<string, unknown>) =>
    Object.fromEntries(topics.map((topic) => [topic.name, make(topic)]));
  const document = {
    asyncapi: '3.0.0',
    info: {
      title: 'Signalbox',
      version,
      description: 'The event backbone for AI agents: provider facts in, conditional wake-ups out.',
      license: { name: 'MIT' },
    },
    defaultContentType: 'application/json',
    servers: {
      kafka: { host: 'kafka.example:9092', protocol: 'kafka', description: 'Whichever brokers KAFKA_BROKERS names.' },
    },
    channels: byName(channelOf),
    operations: operationsOf(traffic),
    components: { messages: byName(messageOf), schemas: { headers } },
  };
  return { path: 'docs/asyncapi.json', text: jsonText(document) };
}
